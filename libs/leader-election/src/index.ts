export { decideLease, type LeaseDecision, type LeaseRecord, type LeaseView } from './decide-lease.ts'
export { type Candidacy, Elector, type ElectorOptions, type LeaseTimings } from './elector.ts'
export { Term } from './term.ts'
