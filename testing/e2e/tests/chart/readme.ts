import { deepStrictEqual as equal, match, rejects } from 'node:assert'
import { LEASES } from '@csi-sidecars/kube-types'
import {
  detaches,
  ground,
  INSTALLATION,
  installationTests,
  linesOf,
  NAMESPACE,
  ORIGINALS,
  OURS,
  onlyRuns,
  vendorDeployment,
  works,
} from './installation.ts'
import { releasedChart } from './released.ts'

/**
 * Runs the commands of README.md with the real helm and kubectl on a real control plane. A substitute for the kubelet
 * starts a process for each sidecar's container.
 */

const lines = linesOf('README.md')

/** Returns the only command of README.md with this beginning. */
function lineOf(beginning: string): string {
  const found = lines.filter((line) => line.startsWith(beginning))
  equal([beginning, found.length], [beginning, 1])
  return found[0] ?? ''
}

const test = installationTests('attacher', 'README')

test('the commands of README.md replace the images of a Deployment, and restore them', INSTALLATION, async (t) => {
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

test('the commands of README.md install the chart, upgrade it and roll it back', INSTALLATION, async (t) => {
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
  const refused = t.sidecars.flatMap(({ gate }) => gate.requests.filter(({ code }) => code === 403))
  equal(refused, [])
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
  // `kubectl logs` needs a real node.
  return found.filter((line) => !line.includes(' logs '))
}
