export { COUNT, NUMBER, readArguments } from './arguments.ts'
export { type ProgramOptions as ProcessOptions, type RunningProcess, startProcess } from './process.ts'
export { Progress } from './progress.ts'
