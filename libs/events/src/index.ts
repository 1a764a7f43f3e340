export type { EventTarget, EventText } from './event.ts'
export { createRecorder, type Recorder } from './recorder.ts'
export { SeriesWriter } from './series.ts'
