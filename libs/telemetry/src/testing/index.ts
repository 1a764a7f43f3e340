export { OtlpReceiver } from './otlp-receiver.ts'
export type { ReceivedSpan } from './otlp-span.ts'
export { type RecordingLogger, recordingLogger } from './recording-logger.ts'
export { RecordingTracer } from './recording-tracer.ts'
