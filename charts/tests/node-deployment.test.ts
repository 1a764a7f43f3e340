import { sidecars } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { expect, it } from '@jest/globals'
import { exampleFile, render } from './helm.ts'
import { named, ofKind, podSpecs, sidecar } from './manifest.ts'
import { merged, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

const EXAMPLE = readValues(exampleFile('node-deployment'))

withHelm('resizer.nodeDeployment', () => {
  const objectsOf = (values: object = {}, tests = false) => render({ values: merged(EXAMPLE, { ...values }), tests })
  const failureOf = (values: object): string => {
    try {
      objectsOf(values)
    } catch (error) {
      return String(error)
    }
    return 'rendered'
  }

  it('the resizer on each node runs in a DaemonSet, with NODE_NAME and without leader election', () => {
    const objects = objectsOf()
    named(objects, 'DaemonSet', 'demo-csi-sidecars-controller')
    const { args = [], env = [] } = sidecar(objects, 'resizer')
    expect(args).toContain('--node-deployment=true')
    expect(args.filter((argument) => argument.includes('leader'))).toEqual([])
    expect(env).toContainEqual({ name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } })
    expect(podSpecs(objects)[0]?.containers.map(({ name }) => name)).not.toContain('csi-attacher')
  })

  it('the resizer on each node may read Nodes and CSINodes, and has no permission for Leases', () => {
    const objects = objectsOf()
    const { rules = [] } = named(objects, 'ClusterRole', 'demo-csi-sidecars-external-resizer-role')
    expect(rules.filter(({ resources }) => /nodes$/.test(resources?.join() ?? ''))).toEqual(FACTS.resizer.nodeRules)
    expect(JSON.stringify(objects)).not.toContain('"leases"')
    expect(ofKind(objects, 'Role')).toEqual([])
  })

  it('the provisioner on each node may read single Nodes and CSINodes only with finalizeClaims', () => {
    const values = readValues(exampleFile('node-local'))
    const verbs = (finalizeClaims: boolean) => {
      const objects = render({ values: merged(values, { provisioner: { finalizeClaims } }) })
      const { rules = [] } = named(objects, 'ClusterRole', 'demo-csi-sidecars-external-provisioner-role')
      return rules
        .filter(({ resources }) => /nodes$/.test(resources?.join() ?? ''))
        .map((rule) => [rule.resources, rule.verbs])
    }
    expect(verbs(false)).toEqual([])
    expect(verbs(true)).toEqual([
      [['nodes'], ['get']],
      [['csinodes'], ['get']],
    ])
  })

  it('helm test of the resizer on each node expects its permissions, and no Lease', () => {
    const [pod] = ofKind(objectsOf({}, true), 'Pod')
    const text = JSON.stringify(pod?.spec)
    expect(text).toContain(String.raw`\"leases\":[]`)
    expect(text).toContain(String.raw`\"resource\":\"csinodes\"`)
  })

  it('the resizer on each node can run in one process with the livenessprobe', () => {
    const objects = objectsOf({ process: 'one', livenessprobe: { enabled: true } })
    const { args = [], env = [] } = sidecar(objects, 'sidecars')
    expect(args).toEqual(
      expect.arrayContaining(['--controllers=resizer,livenessprobe', '--resizer-node-deployment=true']),
    )
    expect(env.map(({ name }) => name)).toContain('NODE_NAME')
    const command = { argv0: 'csi-sidecars', args, env: { NODE_NAME: 'a' } }
    expect(sidecars.parse(command)).toMatchObject({ kind: 'start' })
    expect(sidecars.parse({ ...command, env: {} })).toMatchObject({ kind: 'refused' })
  })

  it('resizer, provisioner and snapshotter run in one process, and their DaemonSet owns the CSIStorageCapacity objects', () => {
    const objects = render({ files: [exampleFile('node-local')] })
    const { args = [], env = [] } = sidecar(objects, 'sidecars')
    expect(args).toEqual(
      expect.arrayContaining([
        '--controllers=resizer,provisioner,snapshotter',
        '--provisioner-node-deployment=true',
        '--provisioner-capacity-ownerref-level=1',
        '--snapshotter-node-deployment=true',
      ]),
    )
    expect(env.map(({ name }) => name)).toEqual(['POD_NAMESPACE', 'NODE_NAME', 'NAMESPACE', 'POD_NAME'])
    expect(ofKind(objects, 'Role').map(({ metadata }) => metadata.name)).toEqual(['demo-csi-sidecars-capacity'])
  })

  it('the chart renders nothing for a resizer on each node if resizer.nodeDeployment is not set', () => {
    const objects = render({ values: readValues(exampleFile('driver')) })
    expect(JSON.stringify(objects)).not.toMatch(/node-deployment|NODE_NAME|csinodes.*"get","watch"\]/)
  })

  it.each([
    [{ controller: { kind: 'Deployment' } }, 'resizer.nodeDeployment needs controller.kind DaemonSet'],
    [{ attacher: { enabled: true } }, 'resizer.nodeDeployment needs attacher.enabled false'],
    [{ leaderElection: { enabled: true } }, 'resizer.nodeDeployment excludes leader election'],
    [{ resizer: { leaderElection: { enabled: true } } }, 'resizer.nodeDeployment excludes leader election'],
    [{ resizer: { enabled: false } }, 'Nothing to install'],
    [{ snapshotter: { enabled: true } }, 'resizer.nodeDeployment needs snapshotter.enabled false'],
    [
      { resizer: { nodeDeployment: false }, provisioner: { enabled: true, nodeDeployment: { enabled: true } } },
      'provisioner.nodeDeployment needs resizer.enabled false',
    ],
    [{ resizer: { enabled: false }, attacher: { enabled: true } }, 'resizer.nodeDeployment needs resizer.enabled'],
    [{ provisioner: { nodeDeployment: { enabled: true } } }, 'provisioner.nodeDeployment needs provisioner.enabled'],
    [{ snapshotter: { nodeDeployment: true } }, 'snapshotter.nodeDeployment needs snapshotter.enabled'],
    [{ resizer: { nodeDeployment: false } }, 'controller.kind is DaemonSet without leaderElection.enabled'],
  ])('the chart refuses values with which a sidecar on each node cannot work: %j', (values, sentence) => {
    expect(failureOf(values)).toContain(sentence)
  })
})
