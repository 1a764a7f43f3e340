import type { Unseen } from '../facts/facts.ts'
import type { Search, Thing } from './page.ts'

/** The result of the command: what the leaders have found, without the things that an object names by now. */
export interface UnreferencedResult {
  readonly searches: readonly Search[]
  readonly items: readonly Thing[]
  readonly unseen: readonly Unseen[]
}
