import type { CsiDriver } from '@csi-sidecars/emulator'
import { FAULTS } from '../view/deed-table.ts'

interface Fault {
  readonly method: string
  readonly how: string
  readonly times: number
}

type Action = Parameters<CsiDriver['faults']['add']>[0]['action']

const LATER_MS = 3000
const WORDS = 'as you wished'

const ACTIONS: Readonly<Record<(typeof FAULTS)[number], Action>> = {
  'fails with Internal': { do: 'fail', code: 'INTERNAL', message: WORDS },
  'fails with ResourceExhausted': { do: 'fail', code: 'RESOURCE_EXHAUSTED', message: WORDS },
  // Whoever has called hears of a lost connection.
  'does it, and the answer is lost': { do: 'fail', code: 'UNAVAILABLE', message: 'the answer was lost', applied: true },
  'answers 3 seconds later': { do: 'delay', ms: LATER_MS },
}

/** Breaks the next calls of a method. */
export function breakCalls({ faults }: CsiDriver, { method, how, times }: Fault): void {
  const known = FAULTS.find((fault) => fault === how)
  if (known === undefined) throw new Error(`No call can be broken so: ${how}.`)
  faults.add({ match: { method }, times, action: ACTIONS[known] })
}
