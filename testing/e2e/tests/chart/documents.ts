import { deepStrictEqual as equal, match, rejects } from 'node:assert'
import { LEASES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { LONG } from '../../harness/test.ts'
import { attachAndWait } from '../attacher/scene.ts'
import { provision } from '../provisioner/scene.ts'
import { bound } from '../resizer/scene.ts'
import { installCrds, snapshot, taken } from '../snapshotter/scene.ts'
import {
  detaches,
  ground,
  INSTALLATION,
  installationTests,
  linesOf,
  NAMESPACE,
  ONE,
  ORIGINALS,
  OURS,
  onlyRuns,
  releasedChart,
  vendorDeployment,
  works,
} from './installation.ts'

/**
 * Runs the commands of README.md, docs/migration.md and docs/operations.md with the real helm and kubectl on a real
 * control plane. A substitute for the kubelet starts a process for each sidecar's container.
 */

const README = linesOf('README.md')

/** Returns the only command of README.md that starts with this text. */
function lineOf(beginning: string): string {
  const found = README.filter((line) => line.startsWith(beginning))
  equal([beginning, found.length], [beginning, 1])
  return found[0] ?? ''
}

const readme = installationTests('attacher', 'README')

readme('the commands of README.md replace original images by ours, and restore them', INSTALLATION, async (t) => {
  await using here = await ground(t)
  const { kubelet, shell } = here
  await vendorDeployment(t)
  await shell(lineOf('kubectl --namespace storage rollout status'))
  await onlyRuns(kubelet, ORIGINALS)
  await works(t, '1')
  await shell(lineOf('kubectl --namespace storage set image'))
  await shell(lineOf('kubectl --namespace storage rollout status'))
  await onlyRuns(kubelet, OURS)
  await works(t, '2')
  await detaches(t, '1')
  await shell(lineOf('kubectl --namespace storage rollout undo'))
  await onlyRuns(kubelet, ORIGINALS)
  await works(t, '3')
  await detaches(t, '2')
  await detaches(t, '3')
})

readme('the commands of README.md install the chart, upgrade it and roll it back', INSTALLATION, async (t) => {
  await using here = await ground(t)
  const { kubelet, shell } = here
  const flag = (text: string): string[] =>
    kubelet.sidecars('/csi-attacher:').map(({ args }) => args.find((argument) => argument.startsWith(text)) ?? '')
  const released = releasedChart(t)
  const output = await shell(released(lineOf('helm upgrade --install')))
  await onlyRuns(kubelet, OURS)
  equal(flag('--worker-threads'), ['--worker-threads=10', '--worker-threads=10'])
  for (const line of notes(output)) await shell(line)
  await shell(lineOf('helm test'))
  await works(t, '1')
  await shell(released(lineOf('helm upgrade example')))
  await onlyRuns(kubelet, OURS)
  equal(flag('--worker-threads'), ['--worker-threads=50', '--worker-threads=50'])
  await works(t, '2')
  await detaches(t, '1')
  await shell(lineOf('helm rollback'))
  await onlyRuns(kubelet, OURS)
  equal(flag('--worker-threads'), ['--worker-threads=10', '--worker-threads=10'])
  await detaches(t, '2')
  const leases = (await t.api.list(LEASES, NAMESPACE)).map(({ metadata }) => metadata?.name ?? '')
  equal(
    leases.filter((name) => name.includes(t.id)).map((name) => name.slice(0, name.indexOf(t.id))),
    ['external-attacher-leader-', 'external-resizer-'],
  )
  for (const { gate } of t.sidecars) equal(gate.forbidden(), [])
  await shell('kubectl delete clusterrole example-csi-sidecars-external-attacher-role')
  await rejects(shell(lineOf('helm test')), /Phase: +Failed/)
  match(kubelet.printed.get('example-csi-sidecars-test') ?? '', /^FAILED .* may not patch volumeattachments\/status/m)
  await shell('helm uninstall example --namespace storage')
})

/** Returns the commands in the notes that the chart prints after its installation, without `kubectl logs`. */
function notes(output: string): readonly string[] {
  const found = output.split('\n').flatMap((line) => /^ {4}(kubectl .*)$/.exec(line)?.[1] ?? [])
  equal(
    found.map((line) => line.split(' ').slice(0, 4).join(' ')),
    ['kubectl -n storage rollout', 'kubectl -n storage logs', 'kubectl -n storage get'],
  )
  // `kubectl logs` does not work here, because it needs a real kubelet.
  return found.filter((line) => !line.includes(' logs '))
}

const MIGRATION = linesOf('docs/migration.md')
/** The number of commands in docs/migration.md that replace the Go sidecars. Later commands are about other changes. */
const SWAP = 6

const migration = LONG ? installationTests('attacher', 'migration page') : () => undefined

migration(
  'the commands of docs/migration.md lead from the original sidecars to ours and back',
  INSTALLATION,
  async (t) => {
    await using here = await ground(t)
    const { kubelet } = here
    const shell = (line = ''): Promise<string> => here.shell(line.replaceAll('<name>', 'example-controller'))
    const [before, there, done, leases, back, doneAgain] = MIGRATION
    equal(MIGRATION.length, SWAP + 8)
    await vendorDeployment(t)
    await onlyRuns(kubelet, ORIGINALS)
    await works(t, '1')
    match(await shell(before), /^driver \S+\ncsi-attacher \S+:v4\.13\.0\ncsi-resizer \S+:v2\.3\.0\n$/)
    await shell(there)
    await shell(done)
    await onlyRuns(kubelet, OURS)
    await works(t, '2')
    await detaches(t, '1')
    match(
      await shell(leases),
      new RegExp(`^LEASE +HOLDER\n[^]*external-attacher-leader-${t.id}-csi-example-com +example-controller-`),
    )
    await shell(back)
    await shell(doneAgain)
    await onlyRuns(kubelet, ORIGINALS)
    await works(t, '3')
    await detaches(t, '2')
    await detaches(t, '3')
  },
)

migration('commands of docs/migration.md merge two processes, separate them, and upgrade', INSTALLATION, async (t) => {
  await using here = await ground(t)
  const { kubelet, shell } = here
  const released = releasedChart(t)
  const [there = '', , , back = '', nodes = '', upgrade = '', status = '', rollback = ''] = MIGRATION.slice(SWAP)
  await shell(released(lineOf('helm upgrade --install')))
  await onlyRuns(kubelet, OURS)
  await works(t, '1')
  await shell(released(there))
  await onlyRuns(kubelet, ONE)
  await works(t, '2')
  await detaches(t, '1')
  match(await shell(nodes), new RegExp(`^VOLUME +DRIVER +NODES\n[^]*${t.id}-pv\\S* +${t.driverName} +<none>`))
  await shell(released(back))
  await onlyRuns(kubelet, OURS)
  await shell(released(upgrade))
  match(await shell(status), /\n4\s.*deployed/)
  await shell(rollback)
  await onlyRuns(kubelet, OURS)
  await detaches(t, '2')
  await shell(`helm uninstall example --namespace ${NAMESPACE}`)
})

migration('the commands of docs/migration.md merge all sidecars into one process and back', INSTALLATION, async (t) => {
  await installCrds(t)
  await using here = await ground(t)
  const { kubelet, shell, driver } = here
  driver.setCapabilities({
    controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT'],
  })
  driver.on('CreateSnapshot', snapshot())
  const released = releasedChart(t)
  const [, there = '', back = ''] = MIGRATION.slice(SWAP)
  await shell(released(lineOf('helm upgrade --install')))
  await onlyRuns(kubelet, OURS)
  await shell(released(there))
  await onlyRuns(kubelet, ONE)
  await works(t, '1')
  await provision(t, { suffix: '-new' })
  await taken(t)
  // Leases of earlier tests in the same namespace do not count.
  const own = (await t.api.list(LEASES, NAMESPACE)).filter(({ metadata }) => metadata?.name?.includes(t.id))
  equal(own.filter(({ spec }) => spec?.holderIdentity).length, 4)
  await shell(released(back))
  await onlyRuns(kubelet, ONE)
  await detaches(t, '1')
  await shell(`helm uninstall example --namespace ${NAMESPACE}`)
})

const operations = installationTests('attacher', 'operations')

/** Commands that the test skips: they need a real node or snapshots, or other tests run them. */
const NOT_HERE = [
  'kubectl -n <namespace> logs',
  'kubectl -n <namespace> port-forward',
  'kubectl get --raw',
  'kubectl csi',
  'kubectl describe volumesnapshot',
]

operations('every kubectl command of docs/operations.md works', INSTALLATION, async (t) => {
  await using here = await ground(t)
  const { kubelet, shell } = here
  await vendorDeployment(t)
  await onlyRuns(kubelet, ORIGINALS)
  const { va } = await attachAndWait(t, { node: t.name('node') })
  const { pvc } = await bound(t, { suffix: '-claim' })
  // The PersistentVolume is deleted while attached, so the attacher cannot find the volume handle.
  await t.strip(PERSISTENT_VOLUMES, { name: t.name('pv') })
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })

  const lines = linesOf('docs/operations.md').filter(
    (line) => line.startsWith('kubectl') && !NOT_HERE.some((part) => line.startsWith(part)),
  )
  equal(lines.length, 7)
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
