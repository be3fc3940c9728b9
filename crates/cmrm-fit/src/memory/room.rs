//! How much memory there is for this process, by what the system says of itself in text files.

use std::fs;

/// Memory that can still be had, and why not more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// How much, in bytes.
    pub bytes: u64,
    /// Whose limit it is, to be followed by the amount.
    pub whose: &'static str,
}

impl Room {
    /// The tightest of the limits that Linux tells of: the address space of the process, its control group, and what the
    /// machine has left. Other systems tell nothing that could be read here.
    pub fn now() -> Option<Room> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let used = |field: &str| kilobytes(&status, field).unwrap_or(0);
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let limits = [
            Room {
                bytes: address_space(&text("/proc/self/limits"))?.saturating_sub(used("VmSize:")),
                whose: "the limit on this process's address space (ulimit -v) leaves",
            },
            Room {
                bytes: group_limit(&text("/proc/self/cgroup"), text).saturating_sub(used("VmRSS:")),
                whose: "the memory limit of this process's control group leaves",
            },
            Room { bytes: left(&text("/proc/meminfo"))?, whose: "this machine has left" },
        ];
        limits.into_iter().min_by_key(|room| room.bytes)
    }
}

/// The soft limit, from the table of the process's limits.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    Some(line.split_whitespace().next()?.parse().unwrap_or(u64::MAX))
}

/// Memory that can be had without taking it from other programs, swap included.
fn left(meminfo: &str) -> Option<u64> {
    Some(kilobytes(meminfo, "MemAvailable:")? + kilobytes(meminfo, "SwapFree:").unwrap_or(0))
}

fn kilobytes(text: &str, field: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(field))?;
    value.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The lowest limit of the groups that the process is in, of either version. In a container the path may be that of the
/// outside; the limit is then at the root.
fn group_limit(groups: &str, read: impl Fn(&str) -> String) -> u64 {
    let mut lowest = u64::MAX;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let ancestors = std::iter::successors(Some(path.trim_end_matches('/')), |path| {
            path.rsplit_once('/').map(|(parent, _)| parent)
        });
        for folder in ancestors {
            if let Ok(limit) = read(&format!("{root}{folder}/{file}")).trim().parse() {
                lowest = lowest.min(limit);
            }
        }
    }
    lowest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_what_linux_writes() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max address space         8192000000           unlimited            bytes     \n";
        assert_eq!(address_space(limits), Some(8_192_000_000));
        assert_eq!(address_space(&limits.replace("8192000000", "unlimited ")), Some(u64::MAX));
        let meminfo = "MemTotal:       24000000 kB\nMemAvailable:   20000000 kB\nSwapFree:          1000 kB\n";
        assert_eq!(left(meminfo), Some(20_001_000 * 1024));
    }

    #[test]
    fn the_lowest_limit_of_all_groups_counts() {
        let read = |path: &str| -> String {
            match path {
                "/sys/fs/cgroup/user/me/memory.max" => "max\n",
                "/sys/fs/cgroup/user/memory.max" => "4096\n",
                "/sys/fs/cgroup/memory/box/memory.limit_in_bytes" => "2048\n",
                _ => "",
            }
            .into()
        };
        assert_eq!(group_limit("0::/user/me\n", read), 4096);
        assert_eq!(group_limit("4:memory:/box\n3:cpu:/\n0::/user/me\n", read), 2048);
        assert_eq!(group_limit("0::/\n", read), u64::MAX);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_some() {
        assert!(Room::now().unwrap().bytes > 0);
    }
}
