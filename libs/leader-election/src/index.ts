export { type Election, Elector } from './elector.ts'
export { LeaseHolder } from './lease-holder.ts'
export { LeaderTerm } from './term.ts'
