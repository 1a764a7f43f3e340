export type { EventTarget, EventType } from './event.ts'
export { createRecorder, type Recorder, type RecorderOptions } from './recorder.ts'
export { SeriesWriter } from './series.ts'
