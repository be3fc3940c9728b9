//! The constants were written by Python's `pickle`, NumPy 2 (`numpy.save`) for arrays of four labels.

use std::io::Write;

use super::*;

const NAMES: &[&str] = &["clean_label", "noisy_label"];

const PROTOCOL_2: &[u8] = b"\x80\x02}q\x00(X\x0b\x00\x00\x00clean_label\
      q\x01cnumpy.core.multiarr\
      ay\x0a_reconstruct\x0aq\x02cnum\
      py\x0andarray\x0aq\x03K\x00\x85q\x04c_co\
      decs\x0aencode\x0aq\x05X\x01\x00\x00\x00bq\x06\
      X\x06\x00\x00\x00latin1q\x07\x86q\x08Rq\x09\x87q\x0a\
      Rq\x0b(K\x01K\x04\x85q\x0ccnumpy\x0adtyp\
      e\x0aq\x0dX\x02\x00\x00\x00i8q\x0e\x89\x88\x87q\x0fRq\x10(\
      K\x03X\x01\x00\x00\x00<q\x11NNNJ\xff\xff\xff\xffJ\xff\xff\xff\
      \xffK\x00tq\x12b\x89h\x05X!\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\
      \x00\x01\x00\x00\x00\x00\x00\x00\x00\xc3\x88\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00q\x13h\x07\x86q\x14Rq\x15tq\x16bX\x0b\x00\x00\
      \x00noisy_labelq\x17h\x02h\x03K\x00\x85q\
      \x18h\x09\x87q\x19Rq\x1a(K\x01K\x04\x85q\x1bh\x10\x89h\x05\
      X!\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\x00\x00\x00\x00\xc3\xbf\x00\x00\x00\x00\x00\x00\x00q\x1ch\x07\x86q\
      \x1dRq\x1etq\x1fbu.";

const PROTOCOL_4: &[u8] = b"\x80\x04\x95\xf7\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x0bclean_\
      label\x94\x8c\x16numpy._core.mu\
      ltiarray\x94\x8c\x0c_reconstruc\
      t\x94\x93\x94\x8c\x05numpy\x94\x8c\x07ndarray\x94\
      \x93\x94K\x00\x85\x94C\x01b\x94\x87\x94R\x94(K\x01K\x04\x85\x94h\
      \x05\x8c\x05dtype\x94\x93\x94\x8c\x02u1\x94\x89\x88\x87\x94R\x94\
      (K\x03\x8c\x01|\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00\
      t\x94b\x89C\x04\x03\x01\xc8\x00\x94t\x94b\x8c\x0bnoisy_\
      label\x94h\x04h\x07K\x00\x85\x94h\x09\x87\x94R\x94(K\
      \x01K\x04\x85\x94h\x0e\x8c\x02i2\x94\x89\x88\x87\x94R\x94(K\x03\x8c\
      \x01>\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94b\x89\
      C\x08\x00\x03\x00\x01\x00\x00\x00\xff\x94t\x94bu.";

const LISTS: &[u8] = b"\x80\x02}q\x00(X\x0b\x00\x00\x00clean_label\
      q\x01]q\x02(K\x03K\x01K\xc8K\x00eX\x0b\x00\x00\x00no\
      isy_labelq\x03]q\x04(K\x03K\x01K\x00K\
      \xffeu.";

const NPY: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr':\x20'|\
      O',\x20'fortran_order':\x20F\
      alse,\x20'shape':\x20(),\x20}\x20\x20\
      \x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\
      \x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\
      \x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x0a\x80\x04\x95X\
      \x01\x00\x00\x00\x00\x00\x00\x8c\x16numpy._core.m\
      ultiarray\x94\x8c\x0c_reconstru\
      ct\x94\x93\x94\x8c\x05numpy\x94\x8c\x07ndarray\
      \x94\x93\x94K\x00\x85\x94C\x01b\x94\x87\x94R\x94(K\x01)h\x03\x8c\
      \x05dtype\x94\x93\x94\x8c\x02O8\x94\x89\x88\x87\x94R\x94(K\
      \x03\x8c\x01|\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?t\x94\
      b\x89]\x94}\x94(\x8c\x0bclean_label\x94h\
      \x02h\x05K\x00\x85\x94h\x07\x87\x94R\x94(K\x01K\x04\x85\x94h\x0b\
      \x8c\x02i4\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNJ\
      \xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94b\x89C\x10\x03\x00\x00\x00\x01\
      \x00\x00\x00\xc8\x00\x00\x00\x00\x00\x00\x00\x94t\x94b\x8c\x0bnoisy\
      _label\x94h\x02h\x05K\x00\x85\x94h\x07\x87\x94R\x94(\
      K\x01K\x04\x85\x94h\x0b\x8c\x02i8\x94\x89\x88\x87\x94R\x94(K\x03\
      h\x1bNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94b\x89C\
      \x20\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
      \x00\x00\x00\xff\x00\x00\x00\x00\x00\x00\x00\x94t\x94buat\x94b.";

const EVIL: &[u8] = b"\x80\x02}q\x00(X\x0b\x00\x00\x00clean_label\
      q\x01cposix\x0asystem\x0aq\x02X\x07\x00\x00\
      \x00echo\x20hiq\x03\x85q\x04Rq\x05X\x0b\x00\x00\x00n\
      oisy_labelq\x06]q\x07K\x01au.";

fn labels() -> Vec<Vec<i64>> {
    vec![vec![3, 1, 200, 0], vec![3, 1, 0, 255]]
}

fn torch_file(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, data) in entries {
        zip.start_file(*name, stored).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn reads_every_way_the_arrays_are_written() {
    for (what, file) in [("protocol 2", PROTOCOL_2), ("protocol 4", PROTOCOL_4), ("lists", LISTS), ("npy", NPY)] {
        assert_eq!(named_arrays(file, NAMES).as_ref(), Ok(&labels()), "{what}");
        let archive = torch_file(&[("archive/data.pkl", file), ("archive/version", b"3\n")]);
        if what != "npy" {
            assert_eq!(named_arrays(&archive, NAMES).as_ref(), Ok(&labels()), "{what} in an archive");
        }
    }
    // The older plain format: magic number, protocol, system, object.
    let mut old = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00.".to_vec();
    old.extend_from_slice(PROTOCOL_2);
    assert_eq!(named_arrays(&old, NAMES), Ok(labels()));
}

#[test]
fn reads_tensors_from_their_storage() {
    // {'clean_label': torch.tensor([3, 1, 200, 0])} as PyTorch writes it.
    let pickle = b"\x80\x02}q\x00X\x0b\x00\x00\x00clean_labelq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\x00storageq\x03\
        ctorch\nLongStorage\nq\x04X\x01\x00\x00\x000q\x05X\x03\x00\x00\x00cpuq\x06K\x04tq\x07QK\x00K\x04\x85q\x08K\x01\x85q\x09\x89\
        ccollections\nOrderedDict\nq\x0a)Rq\x0btq\x0cRq\x0ds.";
    let data: Vec<u8> = [3i64, 1, 200, 0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let file = torch_file(&[("x/data.pkl", pickle), ("x/data/0", &data)]);
    assert_eq!(named_arrays(&file, &["clean_label"]), Ok(vec![vec![3, 1, 200, 0]]));
    let short = torch_file(&[("x/data.pkl", pickle), ("x/data/0", &data[..24])]);
    assert!(named_arrays(&short, &["clean_label"]).unwrap_err().contains("4 numbers of 8 bytes with 24 bytes"));
    assert!(named_arrays(&torch_file(&[("x/data.pkl", pickle)]), &["clean_label"]).is_err());
}

#[test]
fn a_call_is_never_made() {
    let message = named_arrays(EVIL, NAMES).unwrap_err();
    assert!(message.contains("'clean_label': an object of posix.system"), "{message}");
}

#[test]
fn says_what_is_missing() {
    assert!(named_arrays(LISTS, &["clean_label", "worse_label"]).unwrap_err().contains("no array named 'worse_label'"));
    assert!(named_arrays(LISTS, &["other"]).unwrap_err().contains("no dictionary with the key 'other'"));
    assert!(named_arrays(b"plain text", NAMES).unwrap_err().contains("neither a PyTorch file"));
    assert!(named_arrays(&torch_file(&[("a", b"b")]), NAMES).unwrap_err().contains("without data.pkl"));
}

#[test]
fn no_damage_makes_it_panic_or_run_away() {
    let archive = torch_file(&[("archive/data.pkl", PROTOCOL_2)]);
    for file in [PROTOCOL_2, PROTOCOL_4, LISTS, NPY, EVIL, &archive] {
        for cut in 0..file.len() {
            let _ = named_arrays(&file[..cut], NAMES);
        }
        for place in 0..file.len() {
            for value in [0, 1, 0x28, 0x2e, 0x52, 0x5d, 0x71, 0x7f, 0x80, 0x85, 0x94, 0xff] {
                let mut damaged = file.to_vec();
                damaged[place] = value;
                let _ = named_arrays(&damaged, NAMES);
            }
        }
    }
}

#[test]
fn deep_nesting_and_huge_announcements_are_refused() {
    let nested = [b"\x80\x02)".as_slice(), &vec![0x85; 3_000_000], b"."].concat();
    assert!(named_arrays(&nested, NAMES).unwrap_err().contains("nested values"));
    assert!(named_arrays(b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", NAMES).unwrap_err().contains("are left"));
    assert!(named_arrays(b"\x80\x04Nr\xff\xff\xff\xff.", NAMES).unwrap_err().contains("huge memo"));
}
