export { CONFORMANCE_CASES } from './cases.ts'
export { compare, writeRecorded } from './compare.ts'
export { type ComparedServer as Server, runConformance } from './run.ts'
