import type { PendingTable } from '@csi-sidecars/controller'
import { namespacedRef } from '@csi-sidecars/kube-types'
import { classNameOf, selectedNode } from '../caches/claim.ts'
import { SIDECAR } from '../parts.ts'
import { hasOurFinalizer, isOurs } from './decide.ts'
import { type ObserveDeps, observeClaim } from './observe.ts'

/** Returns the report of pending claims. Leaves out claims without a selected node, and of other nodes. */
export function claimTable(deps: ObserveDeps): PendingTable {
  return {
    sidecar: SIDECAR,
    subject(uid) {
      const view = observeClaim(uid, deps)
      if (view === undefined || view.existingVolume?.claimUid === uid) return undefined
      const { claim, class: storageClass, settings } = view
      if (!view.isCallUncertain && !hasOurFinalizer(claim, settings)) {
        if (claim.volumeName !== '' || !isOurs(claim, settings)) return undefined
        const selected = selectedNode(claim)
        if (settings.node !== undefined && selected && selected !== settings.node.name) return undefined
        if (storageClass?.waitsForConsumer === true && !selected) return undefined
      }
      const object = { kind: 'PersistentVolumeClaim', ...namespacedRef(claim.key), uid }
      const work = { operation: 'provision', object, volume: view.volumeName } as const
      if (view.hasUnsavedVolume) return { ...work, obstacle: 'PersistentVolumeNotStored' }
      if (storageClass === undefined && classNameOf(claim) !== '') return { ...work, obstacle: 'StorageClassMissing' }
      return view.pausedForMs > 0 ? { ...work, obstacle: 'Infeasible' } : work
    },
  }
}
