//! Text files: dialects, headers, kinds, labels, chunks, and what is refused.

mod common;

use std::io::Write;

use cmrm_data::read::{Format, ReadOptions, Source, TextOptions, open, read, read_labels};
use cmrm_data::table::Values;
use cmrm_data::{Kind, LabelOptions, Override};
use common::{cells, csv, labelled, read_csv, table};

fn kinds(text: &str) -> Vec<Kind> {
    let input = read_csv(text, &ReadOptions::default()).unwrap();
    table(&input).columns().iter().map(|column| column.kind()).collect()
}

fn refused(text: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    read_csv(text, options).unwrap_err().to_string()
}

#[test]
fn delimiters_quotes_bom_and_line_ends_make_no_difference() {
    let expected = vec![vec!["1", "a,b \"c\""], vec!["2.5", "line\nbreak"]];
    for text in [
        "n,s\n1,\"a,b \"\"c\"\"\"\n2.5,\"line\nbreak\"\n",
        "\u{feff}n,s\r\n1,\"a,b \"\"c\"\"\"\r\n2.5,\"line\nbreak\"\r\n",
        "n\ts\n1\t\"a,b \"\"c\"\"\"\n2.5\t\"line\nbreak\"",
        "n;s\n\n 1 ;\"a,b \"\"c\"\"\"\n2.5;\"line\nbreak\"\n\n",
        "n|s\n1|\"a,b \"\"c\"\"\"\n2.5|\"line\nbreak\"\n",
        "n s\n1 \"a,b \"\"c\"\"\"\n2.5 \"line\nbreak\"\n",
    ] {
        let input = read_csv(text, &ReadOptions::default()).unwrap();
        assert_eq!(cells(&input), expected, "{text:?}");
        assert_eq!(table(&input).names(), ["n", "s"], "{text:?}");
    }
}

#[test]
fn any_other_delimiter_quote_and_comment_can_be_stated() {
    let text = TextOptions {
        delimiter: Some(b'~'),
        quote: b'\'',
        comment: Some(b'#'),
        skip_lines: 1,
        decimal_comma: true,
        ..TextOptions::default()
    };
    let options = ReadOptions { text, ..ReadOptions::default() };
    let input = read_csv("made by hand\na~b\n#1~2\n1,5~'x~y'\n", &options).unwrap();
    assert_eq!(cells(&input), [["1.5", "x~y"]]);
    let mut same = options.clone();
    same.text.quote = b'~';
    assert!(refused("a~b\n", &same).contains("must differ"));
}

#[test]
fn headers_are_detected_and_can_be_overridden() {
    for (text, names) in [
        ("a,b\n1,2\n", vec!["a", "b"]),
        ("1,2\n3,4\n", vec!["x0", "x1"]),
        ("red,1\nblue,2\n", vec!["x0", "x1"]),
        ("colour,size\nred,big\nred,small\n", vec!["colour", "size"]),
        ("red,big\nblue,small\nred,small\n", vec!["x0", "x1"]),
        ("0,1,2,label\n0.5,1.5,2.5,a\n", vec!["0", "1", "2", "label"]),
        (",a\n0,2\n1,3\n", vec!["column 0", "a"]),
        ("0.5,1.5,2.5,a\n1.5,0.5,3.5,b\n", vec!["x0", "x1", "x2", "x3"]),
        ("0,1.5,1,a\n1,0.5,3,b\n", vec!["x0", "x1", "x2", "x3"]),
        ("a,b\n?,x\n", vec!["a", "b"]),
        // Words for yes and no are names of columns too.
        ("RI,Na,Si,Type\n1.52,13.6,71.8,1\n1.51,13.9,72.7,2\n", vec!["RI", "Na", "Si", "Type"]),
        ("No,Ja,On\n1,rot,2024-01-01\n2,blau,None\n", vec!["No", "Ja", "On"]),
        ("0,1,No\n0.5,1.5,2\n", vec!["0", "1", "No"]),
        ("yes,red\nno,blue\nno,red\n", vec!["x0", "x1"]),
    ] {
        let input = read_csv(text, &ReadOptions::default()).unwrap();
        assert_eq!(table(&input).names(), names, "{text:?}");
    }
    let mut options = ReadOptions::default();
    options.text.header = Some(false);
    assert_eq!(cells(&read_csv("a,b\n1,2\n", &options).unwrap()), [["a", "b"], ["1", "2"]]);
    options.text.header = Some(true);
    assert_eq!(table(&read_csv("1,2\n3,4\n", &options).unwrap()).names(), ["1", "2"]);
}

#[test]
fn kinds_are_detected_over_all_rows() {
    use Kind::{Boolean, Categorical, Date, Numeric};
    assert_eq!(
        kinds("a,b,c,d,e\n1,true,2024-01-01,x,\n-2e3,No,2024-01-02T10:00:00Z,1,\nnan,FALSE,?,NA,\n"),
        [Numeric, Boolean, Date, Categorical, Numeric]
    );
    let mut long = String::from("a\n");
    long.extend((0..50_000).map(|i| format!("{i}\n")));
    assert_eq!(kinds(&long), [Numeric]);
    // One cell of another kind is a slip; two among too few are none.
    assert_eq!(kinds(&(long + "late\n")), [Numeric]);
    assert_eq!(kinds("a\n1\n2\nlate\n"), [Categorical]);
}

#[test]
fn what_programs_write_for_nothing_is_missing() {
    use Kind::{Boolean, Categorical, Date, Numeric};
    let text = "d,n,b,f\n2024-01-01,1,True,None\nNaT,None,None,wood\n<NA>,#N/A,NaN,None\nNaN,2,False,NaN\n";
    assert_eq!(kinds(text), [Date, Numeric, Boolean, Categorical]);
    let rows = cells(&read_csv(text, &ReadOptions { strict: true, ..ReadOptions::default() }).unwrap());
    assert_eq!(rows[1..], [["-", "-", "-", "wood"], ["-", "-", "-", "None"], ["-", "2", "false", "NaN"]]);
    // NaN is a number.
    assert_eq!(cells(&read_csv("n\n1\nNaN\nNone\n", &ReadOptions::default()).unwrap()), [["1"], ["NaN"], ["-"]]);
}

#[test]
fn a_number_that_contradicts_all_others_is_a_bad_cell() {
    let text = format!("n;v\n{}12,50;2\n", "1,234;1\n".repeat(100));
    let input = read_csv(&text, &ReadOptions::default()).unwrap();
    let column = table(&input).column("n").unwrap();
    assert_eq!((column.text(0).unwrap(), column.text(100)), ("1234".into(), None));
    assert_eq!((column.missing.unreadable()[0].row, column.missing.unreadable()[0].text.as_str()), (100, "12,50"));
    assert!(column.doubt.as_ref().unwrap().starts_with("100 cells can be read in two ways"));
    let error = refused(&text, &ReadOptions { strict: true, ..ReadOptions::default() });
    assert!(error.starts_with("t.csv, row 100 (line 102), column 'n': '12,50' is not a numeric value"), "{error}");
    // Who says how all numbers are written is not asked.
    let mut stated = ReadOptions::default();
    stated.text.decimal_comma = true;
    let input = read_csv(&text, &stated).unwrap();
    let column = table(&input).column("n").unwrap();
    assert_eq!((column.text(0).unwrap(), column.text(100).unwrap()), ("1.234".into(), "12.5".into()));
    assert_eq!(column.doubt, None);
}

#[test]
fn overrides_keep_the_text_and_refuse_what_does_not_fit() {
    let mut options = ReadOptions::default();
    options.overrides.insert("zip".into(), Override::Categorical);
    options.overrides.insert("note".into(), Override::Ignore);
    let input = read_csv("zip,note,v\n01234,a,1\n1234,b,2\n", &options).unwrap();
    assert_eq!(cells(&input), [["01234", "1"], ["1234", "2"]]);
    assert_eq!(table(&input).skipped(), ["note"]);
    options.overrides.insert("zip".into(), Override::Date);
    assert_eq!(
        refused("zip,note,v\n2024-01-01,a,1\n1234,b,2\n", &options),
        "t.csv, row 1 (line 3), column 'zip': '1234' is not a date value; correct the cell, or state the column's \
         kind (numeric, boolean, categorical, date, text or ignore)"
    );
    options.overrides.insert("zap".into(), Override::Ignore);
    assert!(refused("zip,note,v\n1,a,1\n", &options).contains("did you mean 'zip'?"));
}

#[test]
fn labels_keep_their_text_wherever_the_column_is() {
    for (text, label) in
        [("y,a\n07,1\n7,2\n", "y"), ("a,y\n1,07\n2,7\n", "-1"), ("1,07\n2,7\n", "1"), ("07,1\n7,2\n", "0")]
    {
        let input = read_csv(text, &labelled(label)).unwrap();
        let labels = input.encode_labels(&LabelOptions::default()).unwrap().labels;
        assert_eq!((labels.classes, labels.indices), (vec!["07".into(), "7".into()], vec![0, 1]), "{text:?}");
        assert_eq!(cells(&input), [["1"], ["2"]]);
        let name = if text.contains('a') { "a" } else { "x0" };
        assert_eq!(table(&input).names(), [name], "a label's place must not change the features' names");
    }
}

#[test]
fn bad_files_are_refused_with_the_place() {
    let plain = ReadOptions::default();
    for (text, options, message) in [
        (
            "a,b\n1,2\n3\n",
            &plain,
            "t.csv, row 1 (line 3): 1 cells, expected 2; put quotes around cells that contain the delimiter \
             ',', or state the right delimiter (--delimiter) or how many lines to skip at the start (--skip-lines)",
        ),
        ("|made by hand\n1, 2 x, 3\n4, 5 y, 6\n", &plain, "t.csv, row 0 (line 2): 3 cells, expected 1"),
        ("a,b\n1,2\n3,4,5\n", &plain, "t.csv, row 1 (line 3): 3 cells, expected 2"),
        ("a,b,a\n1,2,3\n", &plain, "t.csv, line 1: the header names 'a' twice, at columns 0 and 2; rename one"),
        ("", &plain, "t.csv: the file is empty"),
        ("a,b\n", &plain, "t.csv: the file, apart from its header, is empty"),
        ("a,label\n1,2\n", &labelled("lable"), "t.csv: no column 'lable', did you mean 'label'?"),
        ("a,label\n1,2\n", &labelled("2"), "t.csv: no column '2'; there are 2 columns: use 0 to 1"),
        ("y\n1\n2\n", &labelled("y"), "t.csv: the list of feature columns is empty"),
    ] {
        let error = refused(text, options);
        assert!(error.starts_with(message), "{text:?}\n{error}\n{message}");
    }
    let same = ReadOptions { id: Some("a".into()), ..labelled("a") };
    assert!(refused("a,b\n1,2\n", &same).contains("both label and row ID"));
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_offset() {
    let plain = ReadOptions::default();
    for (bytes, message) in [
        (&b"a,b\n1,caf\xe9\n"[..], "t.csv, row 0 (line 2): byte 9 is not valid UTF-8"),
        (b"\xef\xbb\xbfa,b\n1,\"x\"\n2,\"caf\xe9\"\n", "t.csv, row 1 (line 3): byte 19 is not valid UTF-8"),
        (b"caf\xe9,b\n1,2\n", "t.csv, line 1: byte 3 is not valid UTF-8"),
        (b"a,b\n\xc3,\xa9\n", "t.csv, row 0 (line 2): byte 4 is not valid UTF-8"),
        (b"a,b\n1,\xc3", "t.csv, row 0 (line 2): byte 6 is not valid UTF-8"),
        (b"\xff\xfea\0,\0b\0", "t.csv: byte 0 is not valid UTF-8; the file is UTF-16"),
    ] {
        let error = refused(bytes, &ReadOptions { format: Some(Format::Csv), ..plain.clone() });
        assert!(error.starts_with(message), "{error}\n{message}");
    }
    // A name is not looked for in a header that cannot be read.
    let error = refused(b"a,Qualit\xe4t\n1,2\n", &labelled("Qualität"));
    assert!(error.starts_with("t.csv, line 1: byte 8 is not valid UTF-8; save"), "{error}");
    assert!(error.contains("iconv -f cp1252"), "{error}");
}

#[test]
fn lines_are_counted_as_an_editor_does() {
    let mut skipping = ReadOptions::default();
    skipping.text.skip_lines = 1;
    let mut commented = ReadOptions::default();
    commented.text.comment = Some(b'#');
    for (text, options, place) in [
        ("a,b\n1,2\n3\n", &ReadOptions::default(), "row 1 (line 3)"),
        ("a,b\r\n1,2\r\n3\r\n", &ReadOptions::default(), "row 1 (line 3)"),
        ("a,b\r\n1,2\r\n3", &ReadOptions::default(), "row 1 (line 3)"),
        ("\u{feff}a,b\r\n1,2\r\n3\r\n", &ReadOptions::default(), "row 1 (line 3)"),
        ("a,b\r\n\r\n1,2\n\n\n3\n", &ReadOptions::default(), "row 1 (line 6)"),
        ("a,b\r\n\"1\r\n\",2\r\n3\r\n", &ReadOptions::default(), "row 1 (line 4)"),
        ("title\r\na,b\r\n1,2\r\n3\r\n", &skipping, "row 1 (line 4)"),
        ("a,b\r\n1,2\r\n# none\r\n3\r\n", &commented, "row 1 (line 4)"),
        ("sep=,\r\na,b\r\n1,2\r\n3\r\n", &ReadOptions::default(), "row 1 (line 4)"),
        ("title\r\n\r\na,a\r\n1,2\r\n", &skipping, "line 3"),
    ] {
        let error = refused(text, options);
        assert!(error.starts_with(&format!("t.csv, {place}: ")), "{text:?}\n{error}");
    }
}

#[test]
fn the_delimiter_may_be_stated_in_the_first_line() {
    for text in ["sep=;\na;b\n1;x, y\n", "\u{feff}sep=;\r\na;b\r\n1;x, y\r\n", "\"SEP=;\"\na;b\n1;x, y\n"] {
        let input = read_csv(text, &ReadOptions::default()).unwrap();
        assert_eq!((table(&input).names(), cells(&input)), (vec!["a", "b"], vec![vec!["1".into(), "x, y".into()]]));
    }
    assert_eq!(table(&read_csv("sep=\t\na b\tc\n1\t2\n", &ReadOptions::default()).unwrap()).names(), ["a b", "c"]);
    // Whoever says otherwise is believed, and a line that is skipped still counts.
    let mut options = ReadOptions::default();
    options.text.delimiter = Some(b',');
    assert_eq!(table(&read_csv("sep=;\na;b,c\n1,2\n", &options).unwrap()).names(), ["a;b", "c"]);
    options = ReadOptions::default();
    options.text.skip_lines = 2;
    assert_eq!(table(&read_csv("sep=|\nReport\na,b|c\n1|2\n", &options).unwrap()).names(), ["a,b", "c"]);
    // A column may be called so.
    assert_eq!(table(&read_csv("sep=x\n1\n2\n", &ReadOptions::default()).unwrap()).names(), ["sep=x"]);
}

#[test]
fn a_title_above_the_header_is_refused_with_the_lines_to_skip() {
    let rows = "Kd.-Nr;Umsatz;Qualität\n1001;12,5;gut\n1002;7,5;schlecht\n1003;8,5;gut\n";
    let plain = ReadOptions::default();
    for (title, lines) in
        [("Umsatzbericht Q3;;\n", 1), ("Umsatzbericht Q3\n", 1), ("Bericht;;\n\n;;\n", 3), (";;\n", 1)]
    {
        let text = format!("{title}{rows}");
        for options in [&plain, &labelled("Qualität"), &labelled("-1")] {
            let error = refused(&text, options);
            let line = lines + 1;
            let expected =
                format!("t.csv, line 1: this does not look like column names, but line {line} does; leave out");
            assert!(error.starts_with(&expected) && error.contains(&format!("--skip-lines {lines},")), "{error}");
        }
        let mut options = labelled("Qualität");
        options.text.skip_lines = lines;
        assert_eq!(table(&read_csv(&text, &options).unwrap()).names(), ["Kd.-Nr", "Umsatz"]);
    }
    // Text over text is not certain, but a name that is asked for is.
    let words = "Survey\nplace,answer\nUlm,good\nBonn,bad\n";
    assert!(refused(words, &labelled("answer")).contains("but line 2 does; leave out"));
    // The same word below a line of names, of which a data frame leaves the first empty, is a cell.
    for names in ["x,red", ",red"] {
        let text = format!("{names}\nplace,answer\nUlm,good\n");
        assert!(refused(&text, &labelled("answer")).contains("no column 'answer'"), "{names}");
    }
    // A row with little in it is no title.
    assert_eq!(table(&read_csv("5,,\n1,2,a\n3,4,b\n", &plain).unwrap()).names(), ["x0", "x1", "x2"]);
    // Neither are names with an empty one over the rows' own, above a first row with gaps.
    let named = read_csv("\"\",\"score\"\n\"alice\",NA\n\"bob\",2.5\n\"carl\",3\n", &plain).unwrap();
    assert_eq!((table(&named).names(), named.features.rows()), (vec!["column 0", "score"], 3));
    // Lines of an old Mac are not counted, so that none of them can be named.
    let old = refused("Survey\r\rx,y\r1,a\r2,b\r", &plain);
    assert!(old.contains("but a later line does; delete the lines above it"), "{old}");
    let mut beyond = ReadOptions::default();
    beyond.text.skip_lines = usize::MAX;
    assert!(refused("x,y\n1,a\n", &beyond).contains("the file behind the lines to skip is empty"));
    let mut rows_only = labelled("-1");
    rows_only.text.header = Some(false);
    assert_eq!(read_csv("a,,\nb,c,d\n1,2,3\n", &rows_only).unwrap().features.rows(), 3);
}

#[test]
fn a_stated_name_makes_the_first_line_one_of_names() {
    let text = "spam,text\nham,see you at lunch\nspam,win cash now\nham,on my way\n";
    assert_eq!(table(&read_csv(text, &ReadOptions::default()).unwrap()).names(), ["x0", "x1"]);
    let mut stated = ReadOptions::default();
    stated.overrides.insert("text".into(), Override::Text);
    for options in [labelled("spam"), stated, labelled("text")] {
        assert_eq!(read_csv(text, &options).unwrap().features.rows(), 3);
    }
    // A place says nothing.
    assert_eq!(read_csv("1,2,0\n3,4,1\n5,6,0\n", &labelled("2")).unwrap().features.rows(), 3);
}

#[test]
fn thousands_are_told_by_the_marks_of_other_columns() {
    let rows = |other: &str| format!("Menge;Preis;y\n2.547;44{other}95;ja\n739;0{other}21;nein\n1.002;7{other}5;ja\n");
    let amounts = |text: &str| {
        let input = read_csv(text, &labelled("y")).unwrap();
        let column = table(&input).column("Menge").unwrap().clone();
        let Values::Numeric(values) = column.values else { panic!("no numbers") };
        (values, column.doubt)
    };
    let (values, doubt) = amounts(&rows(","));
    assert_eq!(values, [2547.0, 739.0, 1002.0]);
    assert!(doubt.unwrap().contains("--type 'Menge=numeric:point'"));
    assert_eq!(amounts(&rows(".")).0, [2.547, 739.0, 1.002]);
}

#[test]
fn workbooks_are_refused_with_the_way_to_a_table() {
    let archive = |entries: &[(&str, &str)]| {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        for (name, text) in entries {
            archive.start_file(*name, stored).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap().into_inner()
    };
    for (name, bytes, what) in [
        ("b.xlsx", archive(&[("[Content_Types].xml", ""), ("xl/workbook.xml", "")]), "an Excel workbook (.xlsx)"),
        ("b.docx", archive(&[("[Content_Types].xml", "")]), "an Office document"),
        (
            "b.ods",
            archive(&[("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", "")]),
            "an OpenDocument file (.ods)",
        ),
        ("b.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0".to_vec(), "an Excel workbook (.xls"),
    ] {
        let source = Source::bytes(name, bytes);
        for error in [read(&source, &labelled("y")).err(), read_labels(&source, &ReadOptions::default()).err()] {
            let error = error.unwrap().to_string();
            assert!(
                error.starts_with(&format!("{name}: {what}")) && error.contains("save it as CSV (UTF-8)"),
                "{error}"
            );
        }
    }
}

#[test]
fn a_packed_file_that_breaks_off_is_incomplete() {
    let mut text = String::from("a,y\n");
    text.extend((0..200_000).map(|row| format!("{},{}\n", row * 7919 % 100_003, row % 2)));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    // In the sample, and behind it.
    for length in [30, packed.len() / 2, packed.len() - 9] {
        let source = Source::bytes("t.csv.gz", packed[..length].to_vec());
        let error = read(&source, &labelled("y")).unwrap_err().to_string();
        assert!(error.ends_with("; the file is incomplete: copy or download it again"), "{length}: {error}");
    }
}

#[test]
fn chunks_put_together_are_the_file() {
    let mut text = String::from("n,s,y\n");
    for i in 0..1000 {
        let s = if i % 7 == 0 { "?".to_string() } else { format!("s{}", i % 13) };
        text += &format!("{},{s},{}\n", i as f64 / 8.0, i % 3);
    }
    let options = labelled("y");
    let whole = read_csv(&text, &options).unwrap();
    for rows in [1, 7, 999, 1000, 1001] {
        let opened = open(&csv(&text), &options).unwrap();
        let mut chunks = opened.chunks(rows).unwrap();
        let mut joined = chunks.next().unwrap().unwrap();
        for chunk in chunks {
            let chunk = chunk.unwrap();
            assert!(chunk.features.rows() <= rows);
            assert_eq!(chunk.features.first_row(), joined.features.rows() as u64);
            joined.append(chunk).unwrap();
        }
        assert_eq!(cells(&joined), cells(&whole));
        let encode = |input: &cmrm_data::Input| input.encode_labels(&LabelOptions::default()).unwrap();
        assert_eq!(encode(&joined), encode(&whole));
    }
}

#[test]
fn rows_can_be_picked_by_place_or_for_being_complete() {
    let options = ReadOptions { id: Some("id".into()), ..labelled("y") };
    let input = read_csv("id,a,b,y\nr0,1,p,0\nr1,?,q,1\nr2,3,?,0\nr3,4,s,1\n", &options).unwrap();
    assert_eq!(input.features.complete_rows(), [0, 3]);
    let picked = input.gather(&[3, 0]).unwrap();
    assert_eq!(cells(&picked), [["4", "s"], ["1", "p"]]);
    assert_eq!(picked.ids.as_ref().unwrap().text(0).unwrap(), "r3");
    assert_eq!(picked.encode_labels(&LabelOptions::default()).unwrap().labels.indices, [1, 0]);
    assert!(input.gather(&[4]).unwrap_err().to_string().contains("expected 5, found 4"));
}
