//! A vote as the bytes of a safetensors file, and back.

use cmrm::error::check_parameter;
use cmrm::noise_model::NoiseModel;
use serde::{Deserialize, Serialize};

use super::{Calibration, Member, Vote, Voter};
use crate::error::Result;
use crate::kernel::{KernelHeader, KernelMachine};
use crate::neighbours::{Neighbours, NeighboursHeader};
use crate::predict::Model;
use crate::stored::{NetworkHeader, Stamp, TensorFile};
use crate::trees::{Boosting, Forest};

/// What the file holds.
const KIND: &str = "vote";
/// Versions of the file, without noise that is corrected for and with it; a reader refuses any other.
const PLAIN_FORMAT: u32 = 2;
const CORRECTED_FORMAT: u32 = 3;
/// Most members that a file may have.
const MOST_MEMBERS: usize = 10_000;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    kind: String,
    format: u32,
    voters: Vec<VoterHeader>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    noise: Option<NoiseModel>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VoterHeader {
    name: String,
    share: f64,
    /// Whether the features are multiplied by the tensor `voters.v.scales`.
    scaled: bool,
    calibration: Calibration,
    copies: Vec<MemberHeader>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MemberHeader {
    Network(NetworkHeader),
    Kernel(KernelHeader),
    Neighbours(NeighboursHeader),
    Forest,
    Boosting,
}

fn prefix(voter: usize, copy: usize) -> String {
    format!("voters.{voter}.{copy}.")
}

fn scales_name(voter: usize) -> String {
    format!("voters.{voter}.scales")
}

impl Vote {
    /// The vote's file: the tensors of copy `c` of voter `v` are named `voters.v.c.…`.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut file = TensorFile::default();
        let mut voters = Vec::with_capacity(self.voters.len());
        for (v, voter) in self.voters.iter().enumerate() {
            let copies = voter.copies.iter().enumerate();
            let copies = copies.map(|(c, member)| put_into(member, &prefix(v, c), &mut file)).collect();
            if let Some(scales) = &voter.scales {
                file.put(scales_name(v), &[scales.len()], scales);
            }
            let Voter { name, share, calibration, .. } = voter;
            let scaled = voter.scales.is_some();
            voters.push(VoterHeader { name: name.clone(), share: *share, scaled, calibration: *calibration, copies });
        }
        let format = if self.noise.is_some() { CORRECTED_FORMAT } else { PLAIN_FORMAT };
        file.to_bytes(&Header { kind: KIND.into(), format, voters, noise: self.noise.clone() })
    }

    /// Whether the bytes are those of a vote rather than of a single network.
    pub(super) fn is_kind_of(bytes: &[u8]) -> Result<bool> {
        Ok(TensorFile::header::<Stamp>(bytes)?.kind == KIND)
    }

    /// Reads the file of a vote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let stamp = TensorFile::header::<Stamp>(bytes)?;
        stamp.check(KIND, if stamp.format == PLAIN_FORMAT { PLAIN_FORMAT } else { CORRECTED_FORMAT })?;
        let (header, file): (Header, _) = TensorFile::from_bytes(bytes)?;
        let members = header.voters.iter().map(|voter| voter.copies.len()).sum::<usize>();
        let bounded = (1..=MOST_MEMBERS).contains(&members) && header.voters.len() <= MOST_MEMBERS;
        check_parameter("members of a vote", members as f64, bounded, "1 to 10,000")?;
        let mut voters = Vec::with_capacity(header.voters.len());
        for (v, voter) in header.voters.into_iter().enumerate() {
            let VoterHeader { name, share, scaled, calibration, copies } = voter;
            let copies = copies.into_iter().enumerate();
            let copies = copies.map(|(c, header)| take_from(header, &prefix(v, c), &file)).collect::<Result<_>>()?;
            let scales = if scaled { Some(file.take(&scales_name(v))?.0) } else { None };
            voters.push(Voter { name, share, scales, copies, calibration });
        }
        let vote = Vote::new(voters)?;
        match header.noise {
            Some(noise) => vote.corrected(noise),
            None => Ok(vote),
        }
    }
}

fn put_into(member: &Member, prefix: &str, file: &mut TensorFile) -> MemberHeader {
    match member {
        Member::Network(model) => MemberHeader::Network(model.put_into(prefix, file)),
        Member::Kernel(machine) => MemberHeader::Kernel(machine.put_into(prefix, file)),
        Member::Neighbours(neighbours) => MemberHeader::Neighbours(neighbours.put_into(prefix, file)),
        Member::Forest(forest) => {
            forest.put_into(prefix, file);
            MemberHeader::Forest
        }
        Member::Boosting(boosting) => {
            boosting.put_into(prefix, file);
            MemberHeader::Boosting
        }
    }
}

fn take_from(header: MemberHeader, prefix: &str, file: &TensorFile) -> Result<Member> {
    Ok(match header {
        MemberHeader::Network(header) => Member::Network(Model::take_from(prefix, header, file)?),
        MemberHeader::Kernel(header) => Member::Kernel(KernelMachine::take_from(prefix, &header, file)?),
        MemberHeader::Neighbours(header) => Member::Neighbours(Neighbours::take_from(prefix, &header, file)?),
        MemberHeader::Forest => Member::Forest(Forest::take_from(prefix, file)?),
        MemberHeader::Boosting => Member::Boosting(Boosting::take_from(prefix, file)?),
    })
}
