import { SIDECAR_NAMES } from '../build/image-names.ts'
import type { Print } from '../cluster/up.ts'
import { deploy, rolledOut } from '../deploy/deploy.ts'
import { kubectl } from '../deploy/kubectl.ts'
import { NAMESPACE, SIDECARS_DEPLOYMENT, sidecarImage } from '../deploy/manifests.ts'
import type { NodeRecord } from '../machine/record.ts'
import { callsTwiceAtOnce, firstGap } from '../results/calls.ts'
import { type Pod, type RunSummary, restartsOf } from './pods.ts'
import { expectThat, RunSteps } from './report.ts'
import { Workspace } from './workspace.ts'

const WRITER = 'writer'
const WRITE = 'i=0; while :; do i=$((i + 1)); echo $i >> /data/log; sync; sleep 0.05; done'
/** Claims whose volumes are created and deleted while a rollout runs. */
const CLAIMS = 10

/** Swaps the images of the Go sidecars for ours and back, as the README says, below a pod that writes all the time. */
export async function swap(node: NodeRecord, print: Print): Promise<RunSummary> {
  const steps = new RunSteps(print)
  const space = new Workspace(node, 'swap')
  deploy(node, 'go')
  // The new leader of two replicas starts while the old leader still runs.
  kubectl(node, '-n', NAMESPACE, 'scale', `deployment/${SIDECARS_DEPLOYMENT}`, '--replicas=2')
  rolledOut(node)
  space.open()
  space.start({ name: WRITER, script: WRITE })
  steps.done('a pod writes to its volume')
  const images = SIDECAR_NAMES.map((name) => `csi-${name}=${sidecarImage('ours', name)}`)
  workDuring(space, ['set', 'image', `deployment/${SIDECARS_DEPLOYMENT}`, ...images])
  steps.done('our sidecars work')
  workDuring(space, ['rollout', 'undo', `deployment/${SIDECARS_DEPLOYMENT}`])
  steps.done('the Go sidecars work again')
  const log = space.read(WRITER, '/data/log')
  const gap = firstGap(log)
  expectThat(gap === undefined, `the pod has lost data: ${gap}`)
  const restarts = restartsOf(space.list<Pod>('pods'))
  expectThat(restarts === 0, 'the pod that writes was restarted')
  const calls = checkCalls(node)
  space.remove('pod,pvc', '--all')
  await space.close()
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
function workDuring(space: Workspace, change: readonly string[]): void {
  const names = Array.from({ length: CLAIMS }, (_, index) => `claim-${index}`)
  const claims = names.map((name) => `pvc/${name}`)
  space.createClaims(names.slice(0, CLAIMS / 2))
  kubectl(space.node, '-n', NAMESPACE, ...change)
  space.createClaims(names.slice(CLAIMS / 2))
  rolledOut(space.node)
  space.wait('jsonpath={.status.phase}=Bound', ...claims)
  space.remove(...claims)
}
