import { deepStrictEqual as equal, match } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { PolicyRule } from '@csi-sidecars/kube-types'
import type { User } from '../../harness/api/cluster.ts'
import { userWith } from '../../harness/api/user.ts'
import { kubeconfigOf, type TestContext } from '../../harness/context.ts'
import { runToEnd } from '../../harness/process/processes.ts'
import { eventually } from '../../harness/waiting.ts'

export const BUNDLE = resolve(import.meta.dirname, '../../../../desk/kubectl-csi/dist/kubectl-csi.cjs')

/** The permissions that docs/operations.md lists for kubectl-csi. */
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
  {
    apiGroups: ['snapshot.storage.k8s.io'],
    resources: ['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses'],
    verbs: ['get', 'list'],
  },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list'] },
]

/** The permissions that docs/operations.md lists for `kubectl csi unreferenced`. */
export const PROXY_READER: readonly PolicyRule[] = [
  ...READER,
  { apiGroups: [''], resources: ['pods/proxy'], verbs: ['get'] },
]

/** The permissions that docs/operations.md lists for `kubectl csi plan`, in addition to `READER`. */
export const PLANNER: readonly PolicyRule[] = [
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'daemonsets'], verbs: ['get'] },
  { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'clusterroles'], verbs: ['get'] },
  { apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings', 'clusterrolebindings'], verbs: ['list'] },
]

/** The output and the exit code of one run of kubectl-csi. */
export interface Explanation {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** The first line of the output: which object waits for what, and since when. */
  readonly first: string
}

/** A user with a kubeconfig, and a function that runs kubectl-csi as this user. */
export interface Asking {
  /** A user with only read permissions. */
  readonly user: User
  readonly kubeconfig: string
  readonly ask: (...args: readonly string[]) => Promise<Explanation>
}

/** Creates a user with the given permissions. The returned `ask` runs kubectl-csi as this user. */
export async function asking(t: TestContext, rules: readonly PolicyRule[] = READER): Promise<Asking> {
  const user = await userWith(t, rules)
  const kubeconfig = join(t.folder, `${user.name}.json`)
  const { url, ca } = t.cluster
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, ca, { token: user.token })))
  const ask = async (...args: readonly string[]): Promise<Explanation> => {
    const command = [BUNDLE, ...args, `--kubeconfig=${kubeconfig}`, '--older-than=0']
    const { code, stdout, stderr } = await runToEnd(process.execPath, command, { cwd: t.folder })
    return { code, stdout, stderr, first: stdout.split('\n')[0] ?? '' }
  }
  return { user, kubeconfig, ask }
}

const AGE = String.raw`has been waiting (?:at least )?(?:\d+[dhms])+ for`

/**
 * Repeats `kubectl csi explain` until its first line matches `waitsFor`. Asserts that the line names the object, who
 * waits and for how long. Asserts that the exit code is 1, and that the command wrote no object.
 */
export async function explained(
  t: TestContext,
  subject: readonly [kind: string, name: string],
  says: {
    readonly object: string
    readonly waiter: string
    readonly waitsFor: RegExp
    readonly rules?: readonly PolicyRule[]
  },
): Promise<Explanation & Pick<Asking, 'ask'>> {
  const { ask, user } = await asking(t, says.rules)
  let last: Explanation | undefined
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
  return { ...answer, ask }
}

/** Asserts that the API server's audit log has only gets and lists of the user. */
export function onlyReads(t: TestContext, user: User): void {
  const verbs = t.cluster.auditOf([user]).map((line) => verbOf(JSON.parse(line)))
  equal(verbs.length > 0, true)
  for (const verb of verbs) match(verb ?? '', /^(get|list)$/)
}

/** Returns the verb of an audit entry. Entries of a real API server have `verb`, entries of the emulator `method`. */
function verbOf(entry: { readonly verb?: string; readonly method?: string }): string | undefined {
  return entry.verb ?? entry.method?.toLowerCase()
}
