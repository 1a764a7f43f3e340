export { type EventTarget, type EventText, SeriesWriter } from './event.ts'
export { structuredLines, textLines } from './lines.ts'
export { createRecorder, type Recorder, recorderWhileLeading } from './recorder.ts'
