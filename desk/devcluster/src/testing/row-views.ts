import { boundPair, DRIVER, node, pod } from '@csi-sidecars/volume-controllers/testing/objects'
import type { LoggedFailure } from '../page/model/call-log.ts'
import { rowOf } from '../page/model/rows.ts'
import type { RowView } from '../page/model/waits.ts'

const PAIR = boundPair()
const NAME = `kubernetes.io/csi/${DRIVER}^handle-pv-1`

/** Returns the view of claim `data` and its volume `pv-1`, neither attached nor used. `change` replaces fields. */
export function rowView(change: Partial<RowView> = {}): RowView {
  return {
    claimKey: 'default/data',
    ...PAIR,
    attachments: [],
    pods: [],
    snapshots: [],
    binding: undefined,
    attaches: true,
    node: () => node(),
    failure: () => undefined,
    warning: () => undefined,
    ...change,
  }
}

/** Returns one text for each wait of the row, followed by its message. */
export function waits(change: Partial<RowView>): readonly string[] {
  const row = rowOf('claim/default/data', rowView(change), { before: undefined, now: 7 })
  return (row?.waits ?? []).map(({ level, who, object, why, message }) =>
    [`${level}: ${object}: ${who}: ${why}`, ...(message === undefined ? [] : [message])].join(' | '),
  )
}

/** Returns the `failure` function of a row view in which the method has failed twice. */
export const fails =
  (method: string): RowView['failure'] =>
  (_who, ...methods): LoggedFailure | undefined =>
    methods.includes(method) ? { method, code: 'Internal', message: 'no', times: 2 } : undefined

/** Fields for `rowView`: every node reports the volume as attached, or as in use. */
export const REPORTED = { node: () => node({ volumesAttached: [{ name: NAME, devicePath: '' }] }) }
export const REPORTED_ILL = { node: () => node({ ready: false, volumesAttached: [{ name: NAME, devicePath: '' }] }) }
export const IN_USE = { node: () => node({ volumesInUse: [NAME] }) }

export const RUNNING = pod({ phase: 'Running' })
