import { startService, stopService } from '../cluster/services.ts'
import { type Print, restartNode, startKubelet } from '../cluster/up.ts'
import { deploy } from '../deploy/deploy.ts'
import { kubectl, list } from '../deploy/kubectl.ts'
import { NAMESPACE } from '../deploy/manifests.ts'
import { inside, tryInside } from '../machine/inside.ts'
import type { NodeRecord } from '../machine/record.ts'
import { until } from '../machine/until.ts'
import { firstGap } from '../results/calls.ts'
import { type Pod, type RunSummary, restartsOf } from './pods.ts'
import { expectThat, RunSteps } from './report.ts'
import { Workspace } from './workspace.ts'

const WRITER = 'writer'
/** After a restart of the container the numbers continue. */
const WRITE =
  'touch /data/log; i=$(wc -l < /data/log); while :; do i=$((i + 1)); echo $i >> /data/log; sync; sleep 0.1; done'

/** Restarts and kills the parts of the node below a pod that writes. After each fault a new volume must be usable. */
export async function faults(node: NodeRecord, print: Print): Promise<RunSummary> {
  const steps = new RunSteps(print)
  const space = new Workspace(node, 'faults')
  deploy(node, 'ours')
  space.open()
  space.start({ name: WRITER, script: WRITE })
  const before = sidecarRestarts(node)
  const check = (step: string): void => {
    useNewVolume(space)
    const gap = firstGap(space.read(WRITER, '/data/log'))
    expectThat(gap === undefined, `the pod has lost data: ${gap}`)
    steps.done(step)
  }
  await stopService(node, 'kubelet')
  await startKubelet(node)
  check('the kubelet was restarted')
  await stopService(node, 'containerd')
  startService(node, 'containerd')
  await until('containerd', () => tryInside(node, ['ctr', 'version']).status === 0)
  check('containerd was restarted')
  await killDriver(node)
  check('the driver was killed')
  const restarts = sidecarRestarts(node) - before
  expectThat(restarts === 0, `containers of the sidecars were restarted ${restarts} times`)
  // csi-driver-host-path counts a publication twice after its node was killed, and never unstages the volume again.
  const isKilled = node.driver !== 'hostpath'
  if (isKilled) {
    space.node = await restartNode(node, print)
    await until('pod that writes', () => isRunning(space), { seconds: 180 })
    check('the node was killed, and started on its etcd and its disks')
  }
  space.remove('pod,pvc', '--all')
  await space.close()
  steps.done('nothing is left')
  const summary = `kubelet and containerd restarted, driver ${isKilled ? 'and node ' : ''}killed`
  return { text: `${summary}: no data lost, new volumes usable, nothing is left`, seconds: steps.seconds }
}

function useNewVolume(space: Workspace): void {
  space.start({ name: 'after', script: 'echo 1 > /data/file' })
  space.remove('pod/after', 'pvc/after')
}

/** Kills the driver's process, and waits until the kubelet has started it again. */
async function killDriver(node: NodeRecord): Promise<void> {
  const driver = (): Pod | undefined => list<Pod>(node, 'pods', '-n', NAMESPACE, '-l', 'app=driver')[0]
  const restarts = (): number =>
    driver()?.status.containerStatuses?.find(({ name }) => name === 'driver')?.restartCount ?? 0
  const before = restarts()
  // The brackets keep pgrep from finding this shell.
  inside(node, ['sh', '-c', `kill -KILL $(pgrep -f -- '--node-?id=[c]si-node')`])
  await until('restarted driver', () => restarts() > before)
  kubectl(node, '-n', NAMESPACE, 'rollout', 'status', 'daemonset/driver', '--timeout=180s')
}

function sidecarRestarts(node: NodeRecord): number {
  return restartsOf(list<Pod>(node, 'pods', '-n', NAMESPACE, '-l', 'app=sidecars'))
}

/** Reports whether the container runs. The pod stays ready while its node does not run. */
function isRunning({ node, name }: Workspace): boolean {
  return tryInside(node, ['kubectl', '-n', name, 'exec', WRITER, '--', 'true']).status === 0
}
