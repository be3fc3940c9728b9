// What tch does not offer: streams, graphs and the switch for TF32. Every function returns null, or an error's text
// that the caller gives back to cmrm_cuda_free_text. No exception leaves.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAStream.h>

#include <cstring>
#include <exception>
#include <optional>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
template <typename F>
char* guarded(F&& work) {
  try {
    work();
    return nullptr;
  } catch (const c10::Error& error) {
    return strdup(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return strdup(error.what());
  } catch (...) {
    return strdup("unknown C++ exception");
  }
}
}  // namespace

EXPORT void cmrm_cuda_free_text(char* text) { free(text); }

// Makes a stream of its own the calling thread's current one. A thread keeps its two: libtorch hands out the same few
// streams in turn, and two threads must not meet on one.
EXPORT char* cmrm_cuda_enter_stream(int urgent) {
  return guarded([&] {
    thread_local std::optional<c10::cuda::CUDAStream> streams[2];
    auto& stream = streams[urgent != 0];
    if (!stream) stream = c10::cuda::getStreamFromPool(urgent != 0, 0);
    c10::cuda::setCurrentCUDAStream(*stream);
  });
}

EXPORT char* cmrm_cuda_synchronise() {
  return guarded([] { c10::cuda::getCurrentCUDAStream().synchronize(); });
}

EXPORT char* cmrm_cuda_allow_tf32(int allow) {
  return guarded([&] { at::globalContext().setAllowTF32CuDNN(allow != 0); });
}

EXPORT char* cmrm_cuda_graph_new(void** graph) {
  return guarded([&] { *graph = new at::cuda::CUDAGraph(); });
}

EXPORT char* cmrm_cuda_graph_begin(void* graph) {
  // Other threads go on allocating while this one captures.
  return guarded([&] {
    static_cast<at::cuda::CUDAGraph*>(graph)->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  });
}

EXPORT char* cmrm_cuda_graph_end(void* graph) {
  return guarded([&] { static_cast<at::cuda::CUDAGraph*>(graph)->capture_end(); });
}

EXPORT char* cmrm_cuda_graph_replay(void* graph) {
  return guarded([&] { static_cast<at::cuda::CUDAGraph*>(graph)->replay(); });
}

EXPORT char* cmrm_cuda_graph_delete(void* graph) {
  return guarded([&] { delete static_cast<at::cuda::CUDAGraph*>(graph); });
}
