import type { Cause } from '@csi-sidecars/controller'
import { ProvisionError } from '../request/failure.ts'
import type { Source } from './data-source.ts'

export type { Source } from './data-source.ts'

/** A source that cannot be used now. A change of the source may end the failure. */
export function sourceError(
  { kind, namespace, name }: Source,
  why: string,
  { cause, waitsFor = [] }: { readonly cause?: unknown; readonly waitsFor?: readonly Cause[] } = {},
): ProvisionError {
  const own = { on: kind === 'VolumeSnapshot' ? 'snapshot' : 'claim', name: `${namespace}/${name}` }
  const message = `error getting handle for DataSource Type ${kind} by Name ${name}: ${why}`
  return new ProvisionError(message, { cause, waitsFor: [own, ...waitsFor] })
}
