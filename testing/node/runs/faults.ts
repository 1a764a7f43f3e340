import { startService, stopService } from '../cluster/services.ts'
import { type Print, restartNode, startKubelet } from '../cluster/up.ts'
import { deploy } from '../deploy/deploy.ts'
import { apply, kubectl, list, remove } from '../deploy/kubectl.ts'
import { NAMESPACE } from '../deploy/manifests.ts'
import { claim, namespace, pod } from '../deploy/workloads.ts'
import { inside, tryInside } from '../machine/inside.ts'
import type { NodeRecord } from '../machine/record.ts'
import { until } from '../machine/until.ts'
import { firstGap } from '../results/calls.ts'
import { type Pod, type RunSummary, restartsOf, volumeObjects, volumesEnded } from './pods.ts'
import { expectThat, RunSteps } from './report.ts'

const RUN_NAMESPACE = 'faults'
const WRITER = 'writer'
/** After a restart of the container the numbers continue. */
const WRITE =
  'touch /data/log; i=$(wc -l < /data/log); while :; do i=$((i + 1)); echo $i >> /data/log; sync; sleep 0.1; done'

/** Restarts and kills the parts of the node below a pod that writes. After each fault a new volume must be usable. */
export async function faults(started: NodeRecord, print: Print): Promise<RunSummary> {
  const steps = new RunSteps(print)
  remove(started, 'namespace', RUN_NAMESPACE)
  deploy(started, 'ours')
  const volumes = volumeObjects(started)
  apply(started, [
    namespace(RUN_NAMESPACE),
    claim(RUN_NAMESPACE, { name: WRITER, storage: '1Gi' }),
    pod(RUN_NAMESPACE, { name: WRITER, script: WRITE }),
  ])
  kubectl(started, '-n', RUN_NAMESPACE, 'wait', '--for=condition=Ready', `pod/${WRITER}`, '--timeout=180s')
  const before = sidecarRestarts(started)
  let node = started
  const check = (step: string): void => {
    useNewVolume(node)
    const gap = firstGap(kubectl(node, '-n', RUN_NAMESPACE, 'exec', WRITER, '--', 'cat', '/data/log'))
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
    node = await restartNode(node, print)
    await until('pod that writes', () => isRunning(node), { seconds: 180 })
    check('the node was killed, and started on its etcd and its disks')
  }
  remove(node, '-n', RUN_NAMESPACE, 'pod,pvc', '--all')
  await volumesEnded(node, volumes)
  remove(node, 'namespace', RUN_NAMESPACE)
  steps.done('nothing is left')
  const summary = `kubelet and containerd restarted, driver ${isKilled ? 'and node ' : ''}killed`
  return { text: `${summary}: no data lost, new volumes usable, nothing is left`, seconds: steps.seconds }
}

function useNewVolume(node: NodeRecord): void {
  const name = 'after'
  apply(node, [
    claim(RUN_NAMESPACE, { name, storage: '1Gi' }),
    pod(RUN_NAMESPACE, { name, script: 'echo 1 > /data/file' }),
  ])
  kubectl(node, '-n', RUN_NAMESPACE, 'wait', '--for=condition=Ready', `pod/${name}`, '--timeout=180s')
  remove(node, '-n', RUN_NAMESPACE, `pod/${name}`, `pvc/${name}`)
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

function isRunning(node: NodeRecord): boolean {
  return tryInside(node, ['kubectl', '-n', RUN_NAMESPACE, 'exec', WRITER, '--', 'true']).status === 0
}
