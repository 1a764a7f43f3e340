export { CONFORMANCE_CASES } from './cases.ts'
export { compare } from './compare.ts'
export { writeRecorded } from './recorded.ts'
export { type ComparedServer as Server, runConformance } from './run.ts'
