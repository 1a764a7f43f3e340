export { type RecordingRun, recordingRun } from './recording-run.ts'
export { recordingQueue, ScriptedInformer } from './scripted-source.ts'
