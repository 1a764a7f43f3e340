import { SIDECAR_NAMES } from '../build/image-names.ts'
import type { Print } from '../cluster/up.ts'
import { deploy, rolledOut } from '../deploy/deploy.ts'
import { apply, kubectl, list, remove } from '../deploy/kubectl.ts'
import { NAMESPACE, SIDECARS_DEPLOYMENT, sidecarImage } from '../deploy/manifests.ts'
import { claim, namespace, pod } from '../deploy/workloads.ts'
import type { NodeRecord } from '../machine/record.ts'
import { callsTwiceAtOnce, firstGap } from '../results/calls.ts'
import { type Pod, type RunSummary, restartsOf } from './pods.ts'
import { expectThat, RunSteps } from './report.ts'

const RUN_NAMESPACE = 'swap'
const WRITER = 'writer'
const WRITE = 'i=0; while :; do i=$((i + 1)); echo $i >> /data/log; sync; sleep 0.05; done'
/** Claims whose volumes are created and deleted while a rollout runs. */
const CLAIMS = 10

/** Swaps the images of the Go sidecars for ours and back, as the README says, below a pod that writes all the time. */
export async function swap(node: NodeRecord, print: Print): Promise<RunSummary> {
  const steps = new RunSteps(print)
  remove(node, 'namespace', RUN_NAMESPACE)
  deploy(node, 'go')
  // The new leader of two replicas starts while the old leader still runs.
  kubectl(node, '-n', NAMESPACE, 'scale', `deployment/${SIDECARS_DEPLOYMENT}`, '--replicas=2')
  rolledOut(node)
  apply(node, [
    namespace(RUN_NAMESPACE),
    claim(RUN_NAMESPACE, { name: WRITER, storage: '1Gi' }),
    pod(RUN_NAMESPACE, { name: WRITER, script: WRITE }),
  ])
  kubectl(node, '-n', RUN_NAMESPACE, 'wait', '--for=condition=Ready', `pod/${WRITER}`, '--timeout=180s')
  steps.done('a pod writes to its volume')
  const images = SIDECAR_NAMES.map((name) => `csi-${name}=${sidecarImage('ours', name)}`)
  workDuring(node, ['set', 'image', `deployment/${SIDECARS_DEPLOYMENT}`, ...images])
  steps.done('our sidecars work')
  workDuring(node, ['rollout', 'undo', `deployment/${SIDECARS_DEPLOYMENT}`])
  steps.done('the Go sidecars work again')
  const log = kubectl(node, '-n', RUN_NAMESPACE, 'exec', WRITER, '--', 'cat', '/data/log')
  const gap = firstGap(log)
  expectThat(gap === undefined, `the pod has lost data: ${gap}`)
  const restarts = restartsOf(list<Pod>(node, 'pods', '-n', RUN_NAMESPACE))
  expectThat(restarts === 0, 'the pod that writes was restarted')
  const calls = checkCalls(node)
  remove(node, 'namespace', RUN_NAMESPACE)
  steps.done('nothing is lost')
  return { text: `${log.trimEnd().split('\n').length} lines written, none lost; ${calls}`, seconds: steps.seconds }
}

/** Checks the log of the driver for calls that started while the same call was running. */
function checkCalls(node: NodeRecord): string {
  const log = kubectl(node, '-n', NAMESPACE, 'logs', 'daemonset/driver', '-c', 'driver', '--tail=-1')
  expectThat(log.includes('gRPCCall: {"Method":"/csi.v1.Controller/CreateVolume"'), 'the driver has logged no call')
  const twice = callsTwiceAtOnce(log)
  expectThat(twice.length === 0, `the driver got calls twice at once: ${twice.join(', ')}`)
  return 'no call twice at once'
}

/** Changes the Deployment, creates volumes while it rolls out, and deletes them after it has. */
function workDuring(node: NodeRecord, change: readonly string[]): void {
  const names = Array.from({ length: CLAIMS }, (_, index) => `claim-${index}`)
  apply(
    node,
    names.slice(0, CLAIMS / 2).map((name) => claim(RUN_NAMESPACE, { name, storage: '1Gi' })),
  )
  kubectl(node, '-n', NAMESPACE, ...change)
  apply(
    node,
    names.slice(CLAIMS / 2).map((name) => claim(RUN_NAMESPACE, { name, storage: '1Gi' })),
  )
  rolledOut(node)
  const claims = names.map((name) => `pvc/${name}`)
  kubectl(node, '-n', RUN_NAMESPACE, 'wait', '--for=jsonpath={.status.phase}=Bound', '--timeout=180s', ...claims)
  remove(node, '-n', RUN_NAMESPACE, ...claims)
}
