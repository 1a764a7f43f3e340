export { CONFORMANCE_CASES } from './cases.ts'
export { compare } from './compare.ts'
export { writeRecorded } from './recorded.ts'
export { runConformance, type Server } from './run.ts'
