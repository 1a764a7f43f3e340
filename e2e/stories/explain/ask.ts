import { deepStrictEqual as equal, match } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { PolicyRule } from '@csi-sidecars/kube-types'
import type { User } from '../../harness/cluster.ts'
import { exitOf, start } from '../../harness/processes.ts'
import { userWith } from '../../harness/user.ts'
import { eventually } from '../../harness/waiting.ts'
import { kubeconfigOf, type World } from '../../harness/world.ts'

export const BUNDLE = resolve(import.meta.dirname, '../../../apps/kubectl-csi/dist/kubectl-csi.cjs')

/** What docs/operations.md says that it may need. */
export const READER: readonly PolicyRule[] = [
  {
    apiGroups: [''],
    resources: ['pods', 'persistentvolumeclaims', 'persistentvolumes', 'nodes', 'events'],
    verbs: ['get', 'list'],
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattachments', 'storageclasses', 'volumeattributesclasses', 'csinodes', 'csidrivers'],
    verbs: ['get', 'list'],
  },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list'] },
]

export interface Answer {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Who waits for whom since when. */
  readonly first: string
}

export interface Asking {
  /** Somebody who may read, and nothing else. */
  readonly user: User
  readonly ask: (...args: readonly string[]) => Promise<Answer>
}

/** kubectl-csi as a user with these rights runs it. */
export async function asking(t: World, rules: readonly PolicyRule[] = READER): Promise<Asking> {
  const user = await userWith(t, rules)
  const kubeconfig = join(t.folder, `${user.name}.json`)
  const { url, ca } = t.cluster
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, ca, { token: user.token })))
  const ask = async (...args: readonly string[]): Promise<Answer> => {
    const command = [BUNDLE, ...args, `--kubeconfig=${kubeconfig}`, '--stuck-after=0']
    const child = start(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'], cwd: t.folder })
    let [stdout, stderr] = ['', '']
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const closed = new Promise((resolve) => child.once('close', resolve))
    const { code } = await exitOf(child)
    await closed
    return { code, stdout, stderr, first: stdout.split('\n')[0] ?? '' }
  }
  return { user, ask }
}

const AGE = String.raw`has been waiting (?:at least )?(?:\d+[dhms])+ for`

/**
 * Asks until the first line says who waits for what; it has to name object, waiter and age, and the exit code is 1.
 * Whatever else a look has cost, nothing was written.
 */
export async function explained(
  t: World,
  subject: readonly [kind: string, name: string],
  says: {
    readonly object: string
    readonly waiter: string
    readonly waitsFor: RegExp
    readonly rules?: readonly PolicyRule[]
  },
): Promise<Answer> {
  const { ask, user } = await asking(t, says.rules)
  let last: Answer | undefined
  const answer = await eventually(
    `an explanation of ${subject.join(' ')} with ${says.waitsFor}`,
    async () => {
      last = await ask('explain', ...subject)
      if (!says.waitsFor.test(last.first)) throw new Error(`it says: ${last.first} ${last.stderr}`)
      return last
    },
    { every: 300 },
  )
  equal(answer.first.startsWith(`${says.object}: ${says.waiter} `), true, answer.first)
  match(answer.first, new RegExp(AGE))
  equal(answer.code, 1, answer.stdout)
  match(answer.stdout, /\nEvidence\n {2}\S/)
  match(answer.stdout, /\nWhat to do \(docs\/operations\.md, [^)]+\)\n {2}\S/)
  match(answer.stdout, /\n(?:Stuck|Under way, not stuck yet)\. How sure: (?:certain|likely|possible)/)
  onlyReads(t, user)
  return answer
}

/** The server's own account of what was asked for: gets and lists, nothing else. */
export function onlyReads(t: World, user: User): void {
  const verbs = t.cluster.auditOf([user]).map((line) => verbOf(JSON.parse(line)))
  equal(verbs.length > 0, true)
  equal(
    verbs.filter((verb) => verb !== 'get' && verb !== 'list'),
    [],
  )
}

/** The real server's audit line has a verb, the emulator's entry a method. */
function verbOf(entry: { readonly verb?: string; readonly method?: string }): string | undefined {
  return entry.verb ?? entry.method?.toLowerCase()
}
