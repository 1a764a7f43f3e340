export type { EventTarget, EventText } from './event.ts'
export { createRecorder, type Recorder, type RecorderOptions } from './recorder.ts'
export { SeriesWriter } from './series.ts'
