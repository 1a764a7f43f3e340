export { type EventTarget, type EventText, RepeatedEventWriter } from './event.ts'
export { structuredLines, textLines } from './lines.ts'
export { createRecorder, type Recorder, recorderWhileLeading } from './recorder.ts'
