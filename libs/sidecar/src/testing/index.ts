export { type Ended, runInProcess } from './run-in-process.ts'
export { testSidecar } from './test-sidecar.ts'
