export { type EventTarget, type EventText, SeriesWriter } from './event.ts'
export { createRecorder, type Recorder } from './recorder.ts'
