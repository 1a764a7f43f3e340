import type { InProcessServer } from '@csi-sidecars/emulator'
import { apiErrorOf, yamlDocuments } from '@csi-sidecars/kube-client'
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CSI_DRIVERS,
  DAEMON_SETS,
  DEPLOYMENTS,
  LEASES,
  ROLE_BINDINGS,
  ROLES,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { InProcessClient } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import type { ReadOnlyClient } from '../facts/reader.ts'
import { type Stored, serving } from '../testing/ask.ts'
import { withProxy } from '../testing/client.ts'
import { DRIVER_CONTAINER, deployment, IMAGES, sidecar } from '../testing/workloads.ts'
import { type PlanQuestion, planFromCluster, planFromManifest } from './command.ts'

const ATTACHER = sidecar('csi-attacher:v4.13.0', '--leader-election')
const RESIZER = sidecar('csi-resizer:v2.3.0', '--leader-election')
const RBAC = 'rbac.authorization.k8s.io'
const ALL = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]
const SUBJECTS = [{ kind: 'ServiceAccount', name: 'controller', namespace: 'storage' }]

const question = (fields: Partial<PlanQuestion> = {}): PlanQuestion => ({
  ask: 'plan',
  workload: undefined,
  namespace: undefined,
  filename: undefined,
  driver: undefined,
  images: IMAGES,
  ...fields,
})
const CONTROLLER = { kind: 'Deployment', namespace: 'storage', name: 'controller' } as const

/** Plans for the objects of a manifest. Returns the output and the exit code. */
function ofManifest(objects: readonly unknown[] | string, fields: Partial<PlanQuestion> = {}, json = false) {
  let text = ''
  const write = (part: string): void => {
    text += part
  }
  const manifest =
    typeof objects === 'string' ? objects : objects.map((object) => JSON.stringify(object)).join('\n---\n')
  const code = planFromManifest(question({ filename: '-', ...fields }), manifest, { json, write })
  return { code, text }
}

const role = (rules: readonly object[] = ALL) => [
  { kind: 'ClusterRole', metadata: { name: 'all' }, rules },
  {
    kind: 'ClusterRoleBinding',
    metadata: { name: 'all' },
    roleRef: { kind: 'ClusterRole', name: 'all' },
    subjects: SUBJECTS,
  },
]

describe('a manifest', () => {
  it('a pod without anything to do before its swap exits with 0', () => {
    const containers = [DRIVER_CONTAINER, ATTACHER, RESIZER]
    const { code, text } = ofManifest([deployment(containers), ...role()], { driver: 'csi.example.com' })
    expect(code).toBe(0)
    expect(text.split('\n')[0]).toBe(
      'Deployment storage/controller: 2 of 3 containers can get our images, or one process can replace them. Nothing has to be done before.',
    )
  })

  it('the patches of the text are those of the JSON, and can be pasted into a shell', () => {
    const objects = [
      deployment([DRIVER_CONTAINER, sidecar('csi-attacher:v4.13.0', "--default-fstype=it's"), RESIZER]),
      ...role(),
    ]
    const { text } = ofManifest(objects)
    const { plans } = JSON.parse(ofManifest(objects, {}, true).text)
    const { commands } = plans[0].patches.oneProcess
    expect(text.replaceAll('\n  ', '\n')).toContain(commands.forward)
    const quoted = commands.forward.slice(commands.forward.indexOf("--patch='") + 9, -1)
    expect(JSON.parse(quoted.replaceAll("'\\''", "'"))).toEqual(plans[0].patches.oneProcess.forward)
  })

  it('the patch for Kustomize has the same operations', () => {
    const { plans } = JSON.parse(ofManifest([deployment([ATTACHER, RESIZER]), ...role()], {}, true).text)
    const [kustomization] = yamlDocuments(plans[0].patches.images.kustomize) as {
      patches: { target: object; patch: string }[]
    }[]
    expect(kustomization?.patches[0]?.target).toEqual({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
      name: 'controller',
    })
    expect(yamlDocuments(kustomization?.patches[0]?.patch ?? '')).toEqual([plans[0].patches.images.forward])
  })

  it('missing rights are printed as a manifest with Secrets by name, and the exit code is 1', () => {
    const storageClass = {
      kind: 'StorageClass',
      metadata: { name: 'fast' },
      provisioner: 'csi.example.com',
      parameters: {
        'csi.storage.k8s.io/controller-publish-secret-name': 'key',
        'csi.storage.k8s.io/controller-publish-secret-namespace': 'keys',
      },
    }
    const rules = [
      { apiGroups: ['', 'storage.k8s.io', 'coordination.k8s.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
    ]
    const rest = role([{ ...rules[0], resources: ['persistentvolumes', 'csinodes', 'leases'] }])
    const csiDriver = { kind: 'CSIDriver', metadata: { name: 'csi.example.com' }, spec: {} }
    const { code, text } = ofManifest([deployment([ATTACHER]), storageClass, csiDriver, ...rest])
    expect(code).toBe(1)
    const start = text.indexOf('  apiVersion: rbac')
    const documents = yamlDocuments(text.slice(start, text.indexOf('\n\n', start)).replaceAll(/^ {2}/gm, ''))
    expect(documents).toMatchObject([
      {
        kind: 'ClusterRole',
        rules: expect.arrayContaining([{ apiGroups: [''], resources: ['persistentvolumes'], verbs: ['patch'] }]),
      },
      { kind: 'ClusterRoleBinding', subjects: SUBJECTS },
      {
        kind: 'Role',
        metadata: { namespace: 'storage' },
        rules: [{ resources: ['leases'], verbs: ['create', 'update'] }],
      },
      { kind: 'RoleBinding' },
      {
        kind: 'Role',
        metadata: { namespace: 'keys' },
        rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['key'], verbs: ['get'] }],
      },
      { kind: 'RoleBinding', metadata: { namespace: 'keys' }, subjects: SUBJECTS },
    ])
  })

  it.each<[string, readonly unknown[] | string, readonly string[]]>([
    ['a Service', [{ kind: 'Service', metadata: { name: 'a' } }], ['Service a: it is no pod template']],
    [
      'a Deployment without containers',
      [deployment([])],
      ['Deployment controller: its pod template has no containers'],
    ],
    [
      'a Deployment without a template',
      [{ kind: 'Deployment', metadata: { name: 'a' }, spec: {} }],
      ['Deployment a: it is no pod template: .spec.template is missing'],
    ],
    [
      'a container with a number as its image',
      [deployment([{ name: 'a', image: 1 as unknown as string }])],
      ['Deployment controller: it is no pod template: .spec.template.spec.containers[0].image is no text'],
    ],
    ['an empty file', '', ['the file: it contains no object']],
    ['a text', 'hello', ['the file: it contains no object']],
    ['an object without a kind', '{}', ['an object without kind: it is no pod template']],
  ])('%s gets one line, and the exit code 2', (_, objects, lines) => {
    const { code, text } = ofManifest(objects)
    expect([code, text.trimEnd().split('\n')]).toEqual([2, lines])
  })

  it('a file that is no YAML is refused in one line', () => {
    expect(() => ofManifest('a: [')).toThrow(/^yaml: line \d+: [^\n]+$/)
  })

  it('an object that is not understood gets a line, and the other objects still have plans', () => {
    const broken = { kind: 'ClusterRole', metadata: { name: 'odd' }, rules: 'all' }
    const list = {
      kind: 'List',
      items: [deployment([ATTACHER]), broken, ...role(), { kind: 'Service', metadata: { name: 's' } }],
    }
    const { code, text } = ofManifest([list])
    expect(code).toBe(1)
    expect(text).toContain('  - ClusterRole odd: .rules is no list.')
    expect(text).toContain('csi-attacher: registry.k8s.io/sig-storage/csi-attacher:v4.13.0')
    expect(text).not.toContain('Service')
  })

  it('an object of several in a file can be chosen', () => {
    const node = { ...deployment([DRIVER_CONTAINER]), kind: 'DaemonSet', metadata: { name: 'node' } }
    const all = ofManifest([deployment([ATTACHER]), node, ...role()], { namespace: 'storage' }).text
    expect(all).toMatch(/^Deployment storage\/controller: [\s\S]*^DaemonSet storage\/node: /m)
    const chosen = { kind: 'DaemonSet', namespace: undefined, name: 'node' } as const
    const { code, text } = ofManifest([deployment([ATTACHER]), node], { workload: chosen })
    expect(text).toContain('There is nothing to patch in DaemonSet default/node.')
    expect(code).toBe(0)
    const other = ofManifest([node], { workload: { ...chosen, name: 'other' } })
    expect([other.code, other.text]).toEqual([2, 'DaemonSet other: the file does not contain it\n'])
  })

  it('a file without roles is one line, and not a missing right', () => {
    const { text } = ofManifest([deployment([ATTACHER])])
    expect(text).toContain(
      '  - The rights are not examined: the file has no role that is bound to the service account storage/controller.',
    )
    expect(text).not.toContain('lacks')
  })

  it('control characters of a manifest do not reach the terminal', () => {
    const odd = { ...ATTACHER, args: ['--timeout=1m\u001b[2J', '--v=1\u202e'] }
    const { text } = ofManifest([deployment([odd, RESIZER]), ...role()])
    expect([text.includes('\u001b'), text.includes('\u202e')]).toEqual([false, false])
  })
})

describe('Helm', () => {
  const labels = (chart: string) => ({ 'app.kubernetes.io/managed-by': 'Helm', 'helm.sh/chart': chart })
  const release = { 'meta.helm.sh/release-name': 'ebs', 'meta.helm.sh/release-namespace': 'kube-system' }
  const managed = (chart: string, containers = [ATTACHER, RESIZER]) => {
    const object = deployment(containers)
    return { ...object, metadata: { ...object.metadata, labels: labels(chart), annotations: release } }
  }

  it.each([
    [
      'aws-ebs-csi-driver-2.40.0',
      { sidecars: { attacher: { image: { repository: 'ghcr.io/csi-sidecars/csi-attacher', tag: 'v0.1.0' } } } },
    ],
    [
      'longhorn-1.10.0',
      { image: { csi: { attacher: { registry: 'ghcr.io', repository: 'csi-sidecars/csi-attacher', tag: 'v0.1.0' } } } },
    ],
    [
      'democratic-csi-0.15.0',
      { controller: { externalAttacher: { image: { registry: 'ghcr.io/csi-sidecars/csi-attacher', tag: 'v0.1.0' } } } },
    ],
    ['topolvm-15.6.0', { image: { csi: { csiAttacher: 'ghcr.io/csi-sidecars/csi-attacher:v0.1.0' } } }],
    [
      'csi-driver-nfs-v4.12.0',
      { image: { csiAttacher: { repository: 'ghcr.io/csi-sidecars/csi-attacher', tag: 'v0.1.0' } } },
    ],
  ])('the plan of a release of %s has its values', (chart, values) => {
    const { plans } = JSON.parse(ofManifest([managed(chart), ...role()], {}, true).text)
    expect(yamlDocuments(plans[0].helm.values)[0]).toMatchObject(values)
    expect(ofManifest([managed(chart), ...role()]).text).toContain(
      `helm upgrade ebs <${plans[0].helm.chart}> --namespace kube-system --reset-then-reuse-values --values values.yaml`,
    )
  })

  it('the values of an unknown chart are not guessed', () => {
    const { text } = ofManifest([managed('private-1.0.0'), ...role()])
    expect(text).toContain(
      'Set the images in the values of the chart, or give Helm the Kustomize patch as a post-renderer.',
    )
    expect(text).toContain('No value of a chart removes containers')
  })

  it('an object without a release has no line about Helm', () => {
    expect(ofManifest([deployment([ATTACHER, RESIZER]), ...role()]).text).not.toContain('Helm')
  })
})

describe('a cluster', () => {
  const LEASE = { metadata: { name: 'external-attacher-leader-csi-example-com', namespace: 'storage' } }

  const objects = (rules: readonly object[] = ALL): readonly Stored[] => [
    [DEPLOYMENTS, deployment([DRIVER_CONTAINER, ATTACHER, RESIZER])],
    [CLUSTER_ROLES, { metadata: { name: 'all' }, rules }],
    [
      CLUSTER_ROLE_BINDINGS,
      { metadata: { name: 'all' }, roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'all' }, subjects: SUBJECTS },
    ],
    [CSI_DRIVERS, { metadata: { name: 'csi.example.com' }, spec: {} }],
    [CSI_DRIVERS, { metadata: { name: 'other.example.com' }, spec: {} }],
    [LEASES, { ...LEASE, spec: { holderIdentity: 'controller-5d8f-x' } }],
  ]

  async function ofCluster(
    server: InProcessServer,
    {
      json = false,
      client = undefined as ReadOnlyClient | undefined,
      workload = CONTROLLER as PlanQuestion['workload'],
    } = {},
  ) {
    let text = ''
    const fullClient = withProxy(new InProcessClient(server, { errorOf: apiErrorOf }), () => ({
      major: '1',
      minor: '36',
    })).client
    const code = await planFromCluster(question({ workload }), json, {
      client: client ?? fullClient,
      namespace: 'storage',
      signal: new AbortController().signal,
      write: (part) => {
        text += part
      },
    })
    return { code, text }
  }

  it('the plan reads object, roles and classes, finds the driver by its Lease, and writes nothing', async () => {
    const server = serving(objects())
    const { code, text } = await ofCluster(server, { json: true })
    expect(JSON.parse(text).plans).toMatchObject([
      { object: { kind: 'Deployment', name: 'controller' }, driver: 'csi.example.com' },
    ])
    expect(code).toBe(0)
    expect(new Set(server.requests.entries.map(({ method }) => method))).toEqual(new Set(['GET']))
  })

  it('the rules of a Role count in its namespace only', async () => {
    const server = serving([
      ...objects([{ apiGroups: ['', 'storage.k8s.io'], resources: ['*'], verbs: ['*'] }]),
      [
        ROLES,
        {
          metadata: { name: 'leases', namespace: 'storage' },
          rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] }],
        },
      ],
      [
        ROLE_BINDINGS,
        {
          metadata: { name: 'leases', namespace: 'storage' },
          roleRef: { apiGroup: RBAC, kind: 'Role', name: 'leases' },
          subjects: SUBJECTS,
        },
      ],
      [DAEMON_SETS, { ...deployment([RESIZER]), kind: 'DaemonSet', metadata: { name: 'node', namespace: 'other' } }],
    ])
    expect((await ofCluster(server)).text).not.toContain('lacks')
    const other = await ofCluster(server, { workload: { kind: 'DaemonSet', namespace: 'other', name: 'node' } })
    expect(other.text).toContain('lacks get, create, update on leases.coordination.k8s.io in namespace other')
  })

  it('an object that does not exist is one line', async () => {
    await expect(ofCluster(serving([]))).rejects.toThrow('Deployment storage/controller does not exist')
  })

  it('kinds that may not be read are listed, and the rest of the plan is there', async () => {
    const server = serving(objects())
    const fullClient = new InProcessClient(server, { errorOf: apiErrorOf })
    const hidden = [CLUSTER_ROLE_BINDINGS, STORAGE_CLASSES].map(({ plural }) => plural)
    const client: ReadOnlyClient = {
      get: fullClient.get.bind(fullClient),
      list: (resource, options) => {
        if (hidden.includes(resource.plural)) {
          throw apiErrorOf({
            kind: 'Status',
            code: 403,
            reason: 'Forbidden',
            message: `${resource.plural} is forbidden`,
          })
        }
        return fullClient.list(resource, options)
      },
      discover: () =>
        Promise.reject(
          apiErrorOf({ kind: 'Status', code: 403, reason: 'Forbidden', message: '/version is forbidden' }),
        ),
    }
    const { code, text } = await ofCluster(server, { client })
    expect(code).toBe(1)
    expect(text).toContain('  - The rights are not examined: ClusterRoleBindings or RoleBindings may not be listed.')
    expect(text).toContain('  - storageclasses.storage.k8s.io: storageclasses is forbidden.')
    expect(text).toContain('  - /version: /version is forbidden.')
    expect(text).toContain('1. To our images, one for each container')
  })
})
