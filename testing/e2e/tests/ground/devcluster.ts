import { deepStrictEqual as equal, match, ok } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { chmodSync, createWriteStream, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import {
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  type Resource,
  VOLUME_ATTACHMENTS,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { SIDECARS } from '../../../../desk/devcluster/src/cluster/binaries.ts'
import type { ClaimRow } from '../../../../desk/devcluster/src/page/view/wire.ts'
import { shownAt } from '../../../../desk/devcluster/src/testing/shown-page.ts'
import type { Cluster } from '../../harness/api/cluster.ts'
import { startControllerManager } from '../../harness/api/control-plane.ts'
import { installSnapshotCrds, kubectl } from '../../harness/api/kubectl.ts'
import { kubeconfigOf } from '../../harness/context.ts'
import {
  type Exit,
  endOf,
  exitOf,
  runToEnd,
  start,
  stop,
  temporaryFolder,
  textOf,
} from '../../harness/process/processes.ts'
import { originals } from '../../harness/programs/binaries.ts'
import type { TestedApp } from '../../harness/subject.ts'
import { type CheckContext, check } from '../../harness/test.ts'
import { requireInRelease, TestObjects } from '../../harness/test-objects.ts'
import { eventually } from '../../harness/waiting.ts'
import { BUNDLE } from '../explain/ask.ts'

const DESK_FOLDER = resolve(import.meta.dirname, '../../../../desk')

/** The program of the embedded cluster, and its output so far. */
interface Started {
  readonly child: ChildProcess
  readonly text: () => string
}

/** Starts a program. Keeps its output in memory and in a file of the folder. */
function startWithOutput(
  folder: string,
  command: string,
  { args, env = process.env }: { readonly args: readonly string[]; readonly env?: NodeJS.ProcessEnv },
): Started {
  const child = start(command, args, { stdio: ['pipe', 'pipe', 'pipe'], cwd: folder, env })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.pipe(createWriteStream(join(folder, 'devcluster.txt'), { flags: 'a' }))
  }
  return { child, text: textOf(child.stdout, child.stderr) }
}

/** Runs the embedded cluster or the driver test to its end, without a terminal. */
export async function runProgram(
  program: 'devcluster' | 'driver-test',
  folder: string,
  args: readonly string[],
): Promise<Exit & { readonly output: string }> {
  const { child, text } = startWithOutput(folder, process.execPath, {
    args: ['--disable-warning=ExperimentalWarning', join(DESK_FOLDER, program, 'dist', 'main.mjs'), ...args],
  })
  const exit = await endOf(child)
  return { ...exit, output: text() }
}

/** Runs the demo of the embedded cluster to its end, and returns its output. Fails if the demo fails. */
async function play(folder: string, args: readonly string[]): Promise<string> {
  const { code, output } = await runProgram('devcluster', folder, ['--exit', ...args])
  ok(code === 0, `it ended with ${code}:\n${output.slice(-3000)}`)
  return output
}

export function sidecarArgs(executables: Readonly<Record<TestedApp, string>>): string[] {
  return SIDECARS.map((app) => `--${app}=${executables[app]}`)
}

const root = resolve(import.meta.dirname, '../../../..')
/** The maximum number of runs of the demo with the Go sidecars, which may give up a claim after a conflict. */
const TRIES_OF_ORIGINALS = 3

async function playOurs({ folder }: CheckContext, args: readonly string[]): Promise<void> {
  await play(folder, args)
}

async function playWithOriginals({ cluster, folder }: CheckContext, args: readonly string[]): Promise<void> {
  for (let left = TRIES_OF_ORIGINALS; ; left -= 1) {
    try {
      await play(folder, args)
      return
    } catch (error) {
      if (left === 1) throw error
      await removeRest(cluster)
    }
  }
}

/** Returns the Go sidecars. Their provisioner searches each second for snapshots with a left-over finalizer. */
function sweepingOriginals({ folder }: CheckContext): Readonly<Record<TestedApp, string>> {
  const provisioner = join(folder, 'sweeping-provisioner')
  const all = originals(root)
  const line = `exec ${all.provisioner} --snapshot-orphan-sweep-interval=1s "$@"`
  writeFileSync(provisioner, `#!/bin/sh\n${line}\n`, { mode: 0o755 })
  return { ...all, provisioner }
}

const OF_THE_DEMO: readonly Resource<KubeObject>[] = [
  PODS,
  PERSISTENT_VOLUME_CLAIMS,
  VOLUME_SNAPSHOTS,
  VOLUME_SNAPSHOT_CONTENTS,
  PERSISTENT_VOLUMES,
  VOLUME_ATTACHMENTS,
]

/** Removes the objects of a failed demo with their finalizers, which the ended sidecars no longer remove. */
async function removeRest(cluster: Cluster): Promise<void> {
  const objects = new TestObjects({ id: 'demo', cluster })
  for (const resource of OF_THE_DEMO) {
    for (const { metadata } of await cluster.api.list(resource)) {
      await objects.strip(resource, { name: metadata?.name ?? '', namespace: metadata?.namespace })
    }
  }
}

/** Installs the CRDs of snapshots. Returns the kubeconfig of the administrator, for programs that act as Kubernetes. */
async function prepared({ cluster, folder }: CheckContext): Promise<string> {
  const { url, ca, adminToken, minor } = cluster
  requireInRelease('volumeattributesclasses', minor)
  const file = join(folder, 'admin.json')
  writeFileSync(file, JSON.stringify(kubeconfigOf(url, ca, { token: adminToken })))
  await installSnapshotCrds(file)
  return file
}

const ON_REAL = { target: 'real', alone: 'cluster' } as const

const BINARIES = [
  {
    who: 'the sidecars under test',
    binaries: ({ executables }: CheckContext) => executables,
    play: playOurs,
    long: false,
  },
  { who: 'the Go sidecars', binaries: sweepingOriginals, play: playWithOriginals, long: true },
] as const

for (const { who, binaries, play, long } of BINARIES) {
  const withOurControllers = `embedded cluster: the demo succeeds with ${who} and our controllers on a real API server`
  check(withOurControllers, { ...ON_REAL, long: true }, async (ground) => {
    await play(ground, [...sidecarArgs(binaries(ground)), `--kubeconfig=${await prepared(ground)}`])
  })

  const withRealControllers = `embedded cluster: the demo succeeds with ${who} and the real kube-controller-manager`
  check(withRealControllers, { ...ON_REAL, long }, async (ground) => {
    const kubeconfig = await prepared(ground)
    const args = ['--pvclaimbinder-sync-period=2s', '--v=2']
    const { folder } = ground
    const manager = await startControllerManager({ kubeconfig, folder, controllers: VOLUME_CONTROLLERS, args })
    try {
      const controllers = '--controllers=binder,volume-manager,snapshot-controller'
      await play(ground, [...sidecarArgs(binaries(ground)), `--kubeconfig=${kubeconfig}`, controllers])
    } finally {
      await stop(manager)
    }
  })
}

check(
  'embedded cluster: the demo succeeds with the Go sidecars on the emulated API server',
  { target: 'emulator', long: true },
  (ground) => playWithOriginals(ground, sidecarArgs(sweepingOriginals(ground))),
)

/** The controllers of Kubernetes that bind, attach, expand and protect volumes. */
const VOLUME_CONTROLLERS = [
  'persistentvolume-binder-controller',
  'persistentvolume-attach-detach-controller',
  'persistentvolume-expander-controller',
  'persistentvolume-protection-controller',
  'persistentvolumeclaim-protection-controller',
]

const COLOUR = '\u001b['
const CTRL_C = '\u0003'

check(
  'embedded cluster: without a terminal, the demo prints at most 80 columns and no colour, and then ends',
  'emulator',
  async ({ folder, executables }) => {
    const { code, output } = await runProgram('devcluster', folder, sidecarArgs(executables))

    equal(code, 0)
    match(output, /All of it came true/)
    match(output, /Watch it at http:\/\/127\.0\.0\.1:\d+\/\n/)
    equal(Math.max(...output.split('\n').map(({ length }) => length)) <= 80, true, output)
    ok(!output.includes(COLOUR))
  },
)

check(
  'embedded cluster: in a terminal the program keeps running, prints commands to inspect it, and ends with Ctrl-C',
  'emulator',
  async ({ folder, executables }) => {
    const { child, text, kubeconfig } = await startedInTerminal(folder, sidecarArgs(executables))
    const pages = [...new Set(text().match(/http:\/\/127\.0\.0\.1:\d+\/\w*/g))]
    ok(text().includes(COLOUR))
    equal(await kubectl(kubeconfig, 'get', 'nodes', '--output=name'), 'node/node-1\nnode/node-2\n')
    equal(await kubectl(kubeconfig, 'get', 'pods', '--output=name'), 'pod/app-1\n')
    match(await kubectl(kubeconfig, 'get', 'pvc', 'data', '--output=jsonpath={.status.phase}'), /^Bound$/)
    const [, example = ''] = /kubectl create -f (\S+)/.exec(text()) ?? []
    await kubectl(kubeconfig, 'create', '--filename', example)
    await kubectl(kubeconfig, 'wait', '--for=condition=Ready', 'pod/mine', '--timeout=20s')
    // The output lists nine pages: the status page, and the metrics and the health of each sidecar.
    equal(pages.length, 9, pages.join())
    for (const page of pages) equal((await fetch(page)).status, 200, page)

    child.stdin?.write(CTRL_C)
    const { code } = await exitOf(child)
    equal(code, 0)
    ok(!existsSync(dirname(kubeconfig)), 'its folder is gone')
    equal(processesWith(dirname(kubeconfig)).join(), '')
  },
)

/** A pod whose claim names no StorageClass. Each report about the pod must name this as the first cause. */
const WAITING = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: classless}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: waiting}
spec:
  containers: [{name: main, image: none, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: classless}}]
`

check(
  'embedded cluster: the status page and kubectl csi name the same first reason why a pod is pending',
  'emulator',
  async ({ folder, executables }) => {
    const { child, text, kubeconfig } = await startedInTerminal(folder, sidecarArgs(executables))
    const [, page = ''] = /Watch it at (http\S+\d\/)/.exec(text()) ?? []
    const file = join(folder, 'waiting.yaml')
    writeFileSync(file, WAITING)
    await kubectl(kubeconfig, 'create', '--filename', file)

    const first = await eventually('the wait on the page', () => firstWaitOf(page, 'classless'))
    equal([first.who, first.object], ['you', 'claim classless'])
    match(first.why, /names no class/)
    for (const age of ['1s', '3m']) {
      const args = [BUNDLE, 'explain', 'pod', 'waiting', `--kubeconfig=${kubeconfig}`, `--older-than=${age}`]
      const { stdout } = await runToEnd(process.execPath, args, { cwd: folder })
      match(stdout, /^Pod default\/waiting: the claim has been waiting \S+ for a StorageClass: it names none/)
    }
    child.stdin?.write(CTRL_C)
    equal((await exitOf(child)).code, 0)
  },
)

/** Returns the first cause in a claim's row of the status page. */
async function firstWaitOf(page: string, claim: string): Promise<ClaimRow['waits'][number] | undefined> {
  const items = [...(await shownAt(page)).values()]
  return items.find((item): item is ClaimRow => item.kind === 'row' && item.claim?.key === `default/${claim}`)?.waits[0]
}

check(
  'embedded cluster: Ctrl-C in the middle of the demo ends all processes',
  'emulator',
  async ({ folder, executables }) => {
    const args = [`--attacher=${idle(folder)}`, `--resizer=${executables.resizer}`]
    const { child, text } = startInTerminal(folder, args)
    await eventually('a step that waits', () => text().includes('VolumeAttachment csi-'), { within: 60_000 })

    child.stdin?.write(CTRL_C)
    const { code } = await exitOf(child)
    equal(code, 130)
    equal(processesWith(join(folder, 'idle')).join(), '')
  },
)

check(
  'embedded cluster: SIGUSR1 opens no debugger in any process, and the demo shows the tag that our provisioner makes of a label',
  'emulator',
  async ({ folder }) => {
    const { child, text } = startWithOutput(folder, process.execPath, {
      args: [join(root, 'tools', 'start.mjs'), 'devcluster'],
    })
    await eventually('the cluster', () => text().includes('A cluster of'), { within: 60_000 })
    const asked = familyOf(child.pid ?? -1)
    ok(asked.length >= 6, `npm start, the cluster and four sidecars: ${asked}`)
    for (const pid of asked) process.kill(pid, 'SIGUSR1')
    const { code } = await exitOf(child)
    equal(code, 0)
    ok(!text().includes('Debugger listening'), text())
    match(text(), /CreateVolume pvc-\S+ with team=db, /)
  },
)

check('embedded cluster: a failed demo step leads to exit code 1', 'emulator', async ({ folder, executables }) => {
  const args = ['--exit', '--patience=15', `--attacher=${idle(folder)}`, `--resizer=${executables.resizer}`]
  const { code, output } = await runProgram('devcluster', folder, args)

  equal(code, 1)
  match(output, /Not true: a successful ControllerPublishVolume\n {2}in the step "Pod app-1 on node-1 uses it"/)
  const [, logs = ''] = /What was logged is in (\S+)/.exec(output) ?? []
  equal(readdirSync(logs).includes('csi-attacher.log'), true)
  rmSync(logs, { recursive: true })
})

check('embedded cluster: the demo succeeds with the driver of a user', 'emulator', async ({ folder, executables }) => {
  const place = temporaryFolder('driver')
  const socket = join(place, 'csi.sock')
  const emulator = join(root, 'desk', 'emulator', 'src', 'main.ts')
  const args = [emulator, `--kubeconfig-out=${join(place, 'unused')}`, `--csi-socket=${socket}`]
  const driver = start(process.execPath, ['--disable-warning=ExperimentalWarning', ...args])
  try {
    await eventually('the driver', () => existsSync(socket))
    const output = await play(folder, [...sidecarArgs(executables), `--driver=unix://${socket}`])

    match(output, new RegExp(`A cluster of 1 node with driver csi.example.com \\(unix://${socket}\\)`))
    match(output, /Left out: "The pod moves to another node", since there is one node only/)
  } finally {
    await stop(driver)
  }
})

/** Runs `npm start` in a pseudo-terminal. */
function startInTerminal(folder: string, args: readonly string[]): Started {
  // Some shells do not replace themselves with their last command. After Ctrl-C such a shell exits with 130, whatever
  // the command's exit code is.
  const command = ['exec', 'npm', '--prefix', root, 'start', '--silent', '--', ...args].join(' ')
  const env = { ...process.env, SHELL: '/bin/sh' }
  return startWithOutput(folder, 'script', {
    args: ['--quiet', '--return', '--command', command, '/dev/null'],
    env,
  })
}

/** Runs `npm start` in a pseudo-terminal, and waits until it prints how to look at the cluster. */
async function startedInTerminal(
  folder: string,
  args: readonly string[],
): Promise<Started & { readonly kubeconfig: string }> {
  const { child, text } = startInTerminal(folder, args)
  const isReady = (): boolean => text().includes('Ctrl-C ends it') && text().includes('logs')
  await eventually('how to look', isReady, { within: 60_000 })
  const [, kubeconfig = ''] = /export KUBECONFIG=(\S+)/.exec(text()) ?? []
  return { child, text, kubeconfig }
}

/** Returns the path of a program that takes the place of a sidecar and does nothing. */
function idle(folder: string): string {
  const file = join(folder, 'idle')
  writeFileSync(file, '#!/bin/sh\nexec tail -f "$0"\n')
  chmodSync(file, 0o755)
  return file
}

/** Returns the IDs of a process and of all its descendants. */
function familyOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return [pid, ...children.filter((text) => text !== '').flatMap((text) => familyOf(Number(text)))]
}

/** Returns the command lines of running processes that contain the path. */
function processesWith(path: string): readonly string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return command.includes(path) ? [command] : []
    } catch {
      return [] // the process has ended
    }
  })
}
