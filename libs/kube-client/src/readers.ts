/** Exports the parsers of bytes from servers and files, for the fuzz tests. */

export { parseJson } from './codec/decode.ts'
export { NoListError } from './codec/list-decoder.ts'
export { decodeListMessage } from './codec/protobuf.ts'
export { documentOf, parseKubeconfig } from './config/kubeconfig-document.ts'
export { FrameReader } from './watch/frame-reader.ts'
export { LineReader } from './watch/line-reader.ts'
export { decodeFrame as frameOfMessage, parseFrame as frameOf } from './watch/watch-frame.ts'
