export type { LeaseDecision, LeaseRecord, LeaseView } from './decide-lease.ts'
export { type Election, Elector, type ElectorOptions, type LeaseTimings } from './elector.ts'
export { LeaseHolder } from './lease-holder.ts'
export { Term } from './term.ts'
