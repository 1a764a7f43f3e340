export { COUNT, NUMBER, readArguments } from './arguments.ts'
export { type ProcessOptions, type RunningProcess, startProcess } from './process.ts'
export { Progress } from './progress.ts'
