import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { releaseChart } from '../../../images/tools/release-chart.ts'
import { commandsIn } from '../../../tools/docs/commands.ts'
import { OUR_REPOSITORY } from '../build/image-names.ts'
import type { Print } from '../cluster/up.ts'
import { deploy, deploySidecars, PODS_OF_CHART, RELEASE, rolledOut } from '../deploy/deploy.ts'
import { driverFacts } from '../deploy/driver-facts.ts'
import { kubectl, list, remove } from '../deploy/kubectl.ts'
import { chartValues, type Manifest, NAMESPACE } from '../deploy/manifests.ts'
import { FOLDERS, ROOT } from '../machine/folders.ts'
import { inside, tryInside } from '../machine/inside.ts'
import type { NodeRecord } from '../machine/record.ts'
import { until } from '../machine/until.ts'
import { isReady, type Pod, type RunSummary } from './pods.ts'
import { expectThat, RunSteps } from './report.ts'
import { Workspace } from './workspace.ts'

/** The Deployment that the documents name. */
const DEPLOYMENT = 'example-controller'
const PODS_OF_DEPLOYMENT = `app=${DEPLOYMENT}`
/** A claim that exists during several commands, with its pod. */
const KEPT = 'kept'
const TEST_POD = `${RELEASE}-csi-sidecars-test`
/** Commands that other tests run, and one that needs a container that has failed. */
const NOT_RUN = /^kubectl csi | --previous /

/** Runs the commands of README.md, docs/migration.md and docs/operations.md, as an administrator copies them. */
export async function documents(node: NodeRecord, print: Print): Promise<RunSummary> {
  const steps = new RunSteps(print)
  const page = new DocumentedCommands(node)
  const { space } = page
  deploy(node, 'none')
  deploySidecars(node, 'go', { name: DEPLOYMENT, replicas: 2 })
  space.open()
  for (const path of ['README.md', 'docs/migration.md']) {
    await swapImages(page, path)
    steps.done(`the commands of ${path} replace the Go sidecars, and restore them`)
  }
  deploy(node, 'none')
  await useChart(page, 'README.md')
  steps.done('the commands of README.md install the chart, upgrade it and roll it back')
  await operate(page)
  steps.done('the kubectl commands of docs/operations.md work')
  await useChart(page, 'docs/migration.md')
  steps.done('the commands of docs/migration.md merge the processes and separate them')
  await space.volumesEnd()
  checkMissingPermission(node)
  steps.done('helm test names a missing permission')
  deploy(node, 'none')
  await space.close()
  return { text: `${page.count} commands`, seconds: steps.seconds }
}

/** Reads commands of documents, and runs them in the root of the repository. */
class DocumentedCommands {
  readonly node: NodeRecord
  readonly space: Workspace
  readonly #chart = releaseChart(FOLDERS.state, OUR_REPOSITORY, {})
  readonly #values = join(FOLDERS.state, 'driver.yaml')
  #count = 0

  constructor(node: NodeRecord) {
    this.node = node
    this.space = new Workspace(node, 'documents')
    // The chart's default is a process for each sidecar, and then it has no livenessprobe.
    const livenessprobe = { enabled: false }
    const values = { ...chartValues(driverFacts(node.driver)), process: 'each', livenessprobe }
    writeFileSync(this.#values, JSON.stringify(values))
  }

  /** The number of commands that have run. */
  get count(): number {
    return this.#count
  }

  /** Returns the commands of a document that begin as the expression says. */
  of(path: string, beginning: RegExp): readonly string[] {
    const commands = commandsIn({ path, text: readFileSync(join(ROOT, path), 'utf8') }).map(({ line }) => line)
    const found = commands.filter((line) => beginning.test(line))
    expectThat(found.length > 0, `${path} has no command ${beginning}`)
    return found
  }

  /** Runs a command with the chart and the driver of the node. Returns its output. Throws if it fails. */
  run(line: string): string {
    const here = line
      .replace(/oci:\/\/\S+\/charts\/csi-sidecars --version \S+/, this.#chart)
      .replace('--values driver.yaml', `--values ${this.#values}`)
      .replace('deployment/<name>', `deployment/${DEPLOYMENT}`)
    expectThat(!/<[a-z]+>/.test(here), `the command has a placeholder without a value: ${here}`)
    this.#count += 1
    return inside(this.node, ['sh', '-c', here])
  }
}

/** Runs the commands that replace images. A volume is created before them, and works until they have ended. */
async function swapImages(page: DocumentedCommands, path: string): Promise<void> {
  const { node, space } = page
  const goImages = imagesOf(node)
  let expected = goImages
  space.start({ name: KEPT, script: 'true' })
  for (const line of page.of(path, /^kubectl (?:-n|--namespace) storage /)) {
    const output = page.run(line)
    if (line.includes(' get leases ')) {
      expectThat(output.includes(DEPLOYMENT), `no pod of the Deployment holds a lease: ${output}`)
    }
    if (line.includes(' set image ')) expected = { ...expected, ...imagesIn(line) }
    if (line.includes(' rollout undo ')) {
      rolledOut(node, DEPLOYMENT)
      expected = goImages
    }
    if (!line.includes(' rollout ')) continue
    const found = JSON.stringify(imagesOf(node))
    expectThat(found === JSON.stringify(expected), `after ${line} other images run: ${found}`)
    await useVolume(space)
  }
  const isGo = Object.values(expected).every((image) => image.startsWith('registry.k8s.io/'))
  expectThat(isGo, `the last command of ${path} leaves ${JSON.stringify(expected)}`)
  space.remove(`pod/${KEPT}`, `pvc/${KEPT}`)
}

/** Returns the image of each sidecar in the ready pods of the Deployment. */
function imagesOf(node: NodeRecord): Readonly<Record<string, string>> {
  const containers = list<Pod>(node, 'pods', '-n', NAMESPACE, '-l', PODS_OF_DEPLOYMENT)
    .filter(isReady)
    .flatMap(({ spec }) => spec.containers)
  return Object.fromEntries(containers.map(({ name, image }) => [name, image]).sort())
}

/** Returns the image of each sidecar that a command sets. */
function imagesIn(line: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...line.matchAll(/ (csi-\w+)=(\S+)/g)].map(([, name = '', image = '']) => [name, image]))
}

/** Runs the commands of a document that install, change or test the chart. Volumes work after each of them. */
async function useChart(page: DocumentedCommands, path: string): Promise<void> {
  const { node, space } = page
  for (const line of page.of(path, /^helm /)) {
    const output = page.run(line)
    if (line.includes('--install')) {
      for (const [, command = ''] of output.matchAll(/^ {4}(kubectl .+)$/gm)) page.run(command)
    }
    if (!line.includes('--wait')) continue
    await until('pods of this release only', () => podsOfChart(node).every(isReady))
    const args = JSON.stringify(podsOfChart(node))
    const process = /--set process=(\w+)/.exec(line)?.[1]
    if (process !== undefined) {
      const isOne = args.includes('csi-sidecars:v')
      expectThat(isOne === (process === 'one'), `${line} leads to ${isOne ? 'one process' : 'a process for each'}`)
    }
    const threads = /--set attacher\.workerThreads=(\d+)/.exec(line)?.[1]
    expectThat(args.includes(`worker-threads=${threads ?? '10'}`), `the pods after ${line} have another value`)
    if (args.includes('provisioner')) await useVolume(space)
  }
}

const podsOfChart = (node: NodeRecord): readonly Pod[] =>
  list<Pod>(node, 'pods', '-n', NAMESPACE, '-l', PODS_OF_CHART).filter(({ metadata }) => metadata.name !== TEST_POD)

/** Runs the kubectl commands for operators, for objects of a volume that a pod uses. */
async function operate(page: DocumentedCommands): Promise<void> {
  const { node, space } = page
  space.start({ name: KEPT, script: 'true' })
  space.snapshot(KEPT)
  const [attachment = ''] = namesOf(node, 'volumeattachments')
  const [content = ''] = namesOf(node, 'volumesnapshotcontents')
  const [sidecars] = podsOfChart(node)
  const attacher = sidecars?.spec.containers.find(({ name }) => name === 'csi-attacher')
  for (const line of page.of('docs/operations.md', /^kubectl /).filter((each) => !NOT_RUN.test(each))) {
    page.run(
      line
        .replace('volumeattachment <name>', `volumeattachment ${attachment}`)
        .replace('volumesnapshotcontent <name>', `volumesnapshotcontent ${content}`)
        .replace(/(pvc|pod|volumesnapshot) <name>/, `$1 ${KEPT} --namespace ${space.name}`)
        .replaceAll('<namespace>', NAMESPACE)
        .replaceAll('<pod>', sidecars?.metadata.name ?? '')
        .replaceAll('<port>', String(attacher?.ports?.[0]?.containerPort)),
    )
  }
  space.remove(`pod/${KEPT}`, `volumesnapshot/${KEPT}`, `pvc/${KEPT}`)
}

const namesOf = (node: NodeRecord, kind: string): readonly string[] =>
  list<Manifest>(node, kind).map(({ metadata }) => metadata.name)

/** Removes a role of the release, and checks that helm test says which permission is missing. */
function checkMissingPermission(node: NodeRecord): void {
  kubectl(node, 'delete', 'clusterrole', `${RELEASE}-csi-sidecars-external-attacher-role`)
  const { status } = tryInside(node, ['helm', 'test', RELEASE, '--namespace', NAMESPACE])
  const log = kubectl(node, '-n', NAMESPACE, 'logs', TEST_POD, '--all-containers')
  const isNamed = /^FAILED .* may not patch volumeattachments\/status/m.test(log)
  expectThat(status !== 0 && isNamed, `helm test ended with ${status}: ${log}`)
  // Helm keeps the pod of a failed test, also after the removal of the release.
  remove(node, '-n', NAMESPACE, `pod/${TEST_POD}`)
}

/** Checks that a volume is created, attached, expanded, detached and deleted. */
async function useVolume(space: Workspace): Promise<void> {
  const name = 'short'
  const before = space.volumeObjects()
  space.start({ name, script: 'true' })
  space.changeClaim(name, { resources: { requests: { storage: '2Gi' } } }, ['capacity.storage', '2Gi'])
  space.remove(`pod/${name}`, `pvc/${name}`)
  await space.volumesEnd(before)
}
