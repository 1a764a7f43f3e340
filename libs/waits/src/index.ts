export type { Operation } from './operations.ts'
export * from './reasons.ts'
export * from './stuck.ts'
