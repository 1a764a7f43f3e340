import { type Clock, messageOf } from '@csi-sidecars/base'
import { controllerClient, type Driver } from '@csi-sidecars/csi'
import { DeleteVolume } from '@csi-sidecars/csi-proto'
import type { Ledger } from './ledger.ts'
import { patiently } from './patient.ts'

const CALL_MS = 30_000

/** Detaches and deletes what a run has left at the driver. Returns what could not be deleted, and why. */
export async function clearUp(
  { driver, clock, ledger }: { readonly driver: Driver; readonly clock: Clock; readonly ledger: Ledger },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const left: string[] = []
  for (const { id, exists, nodes } of ledger.volumes) {
    if (exists === 'no') continue
    const limits = { timeoutMs: CALL_MS, signal }
    try {
      await patiently(clock, signal, async () => {
        for (const nodeId of nodes.keys()) {
          await controllerClient(driver).unpublish({ volumeId: id, nodeId, secrets: {} }, limits)
        }
        await driver.call(DeleteVolume, { volumeId: id, secrets: {} }, limits)
      })
    } catch (error) {
      left.push(`volume ${id}: ${messageOf(error)}`)
    }
  }
  return left
}
