//! Bodies of requests as they arrive.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;
use tokio::time::timeout;

use crate::refusal::Refusal;

/// The refusal of a body that is longer than it may be.
pub(crate) fn too_long(most: usize) -> Refusal {
    Refusal::new(413, format!("the body is longer than {most} bytes; send the rows in several requests"))
}

/// All of a body of at most so many bytes, unless nothing of it arrives for too long.
pub(crate) async fn collected<B>(body: B, most: usize, patience: Duration) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut body = Limited::new(body, most);
    let mut bytes = Vec::new();
    loop {
        match timeout(patience, body.frame()).await {
            Ok(None) => return Ok(bytes.into()),
            Ok(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    bytes.extend_from_slice(data);
                }
            }
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(too_long(most)),
            Ok(Some(Err(_))) => return Err(Refusal::new(400, "the body ended early")),
            Err(_) => {
                let words = format!("nothing of the body arrived for {} s", patience.as_secs_f64());
                return Err(Refusal::new(408, words));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll, ready};

    use hyper::body::Frame;
    use tokio::time::{Sleep, sleep};

    use super::*;

    /// A byte after each pause.
    struct Slow {
        pauses: Vec<Duration>,
        pause: Option<Pin<Box<Sleep>>>,
    }

    impl Body for Slow {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.pause.is_none() {
                let Some(next) = self.pauses.pop() else { return Poll::Ready(None) };
                self.pause = Some(Box::pin(sleep(next)));
            }
            ready!(self.pause.as_mut().unwrap().as_mut().poll(context));
            self.pause = None;
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
        }
    }

    #[tokio::test]
    async fn a_body_may_take_its_time_while_it_arrives() {
        let of =
            |pauses: Vec<u64>| Slow { pauses: pauses.into_iter().map(Duration::from_millis).collect(), pause: None };
        let patience = Duration::from_millis(400);
        assert_eq!(collected(of(vec![150; 5]), 10, patience).await.unwrap(), "xxxxx");
        assert_eq!(collected(of(vec![60_000, 0]), 10, patience).await.unwrap_err().status, 408);
        assert_eq!(collected(of(vec![0; 5]), 4, patience).await.unwrap_err().status, 413);
    }
}
