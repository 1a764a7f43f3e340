/** The holder of a Lease, as the decision needs it. */
export interface LeaseRecord {
  /** Empty when the lease was released. */
  readonly holder: string
  readonly durationMs: number
}

export interface LeaseView {
  readonly me: string
  /** This process's monotonic time. */
  readonly now: number
  /**
   * The record as last seen and when this process first saw it like that; undefined when there is no Lease.
   * Ages are counted by this clock alone: the times in the Lease are another machine's and are never compared.
   */
  readonly seen: { readonly record: LeaseRecord; readonly since: number } | undefined
}

export type LeaseDecision =
  | { readonly do: 'create' }
  /** Write our identity. A lease that already names us continues: same acquire time, no transition. */
  | { readonly do: 'take'; readonly why: 'ours' | 'released' | 'expired' }
  | { readonly do: 'wait'; readonly holder: string; readonly expiresInMs: number }

/** The next step of a candidate. Pure. */
export function decideLease({ me, now, seen }: LeaseView): LeaseDecision {
  if (seen === undefined) return { do: 'create' }
  const { record, since } = seen
  if (record.holder === me) return { do: 'take', why: 'ours' }
  if (record.holder === '') return { do: 'take', why: 'released' }
  const expiresInMs = since + record.durationMs - now
  return expiresInMs > 0 ? { do: 'wait', holder: record.holder, expiresInMs } : { do: 'take', why: 'expired' }
}
