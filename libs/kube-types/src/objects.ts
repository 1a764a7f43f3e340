export type * from './core.ts'
export type * from './meta.ts'
export type { Status } from './status.ts'
export type * from './storage.ts'
