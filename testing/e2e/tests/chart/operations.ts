import { deepStrictEqual as equal } from 'node:assert'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { attachAndWait } from '../attacher/scene.ts'
import { bound } from '../resizer/scene.ts'
import {
  ground,
  INSTALLATION,
  installationTests,
  linesOf,
  NAMESPACE,
  ORIGINALS,
  onlyRuns,
  vendorDeployment,
} from './installation.ts'

/** Runs the kubectl commands of docs/operations.md. */

const test = installationTests('attacher', 'operations')

/**
 * Commands that this test does not run. Logs, port-forward and raw reads need a real node. The tests of explain run
 * `kubectl csi`. This cluster has no snapshots.
 */
const NOT_HERE = [
  'kubectl -n <namespace> logs',
  'kubectl -n <namespace> port-forward',
  'kubectl get --raw',
  'kubectl csi',
  'kubectl describe volumesnapshot',
]

test('every kubectl command of docs/operations.md works', INSTALLATION, async (t) => {
  await using here = await ground(t)
  const { kubelet, shell } = here
  await vendorDeployment(t)
  await onlyRuns(kubelet, ORIGINALS)
  const { va } = await attachAndWait(t, { node: t.name('node') })
  const { pvc } = await bound(t, { suffix: '-claim' })
  // The PersistentVolume is deleted while it is attached, so that its handle is unknown.
  await t.strip(PERSISTENT_VOLUMES, { name: t.name('pv') })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })

  const lines = linesOf('docs/operations.md').filter(
    (line) => line.startsWith('kubectl') && !NOT_HERE.some((part) => line.startsWith(part)),
  )
  equal(lines.length, 6)
  for (const line of lines) await shell(filledIn(line))

  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: va })

  function filledIn(line: string): string {
    return line
      .replace('deployment/<name>', 'deployment/example-controller')
      .replace('pvc <name>', `pvc ${pvc}`)
      .replace('volumeattachment <name>', `volumeattachment ${va}`)
      .replaceAll('<namespace>', NAMESPACE)
  }
})
