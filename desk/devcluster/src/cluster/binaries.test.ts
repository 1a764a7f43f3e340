import process from 'node:process'
import { describe, expect, it } from '@jest/globals'
import { flagsOf, programOf, sidecarBinaries } from './binaries.ts'

describe('flagsOf', () => {
  const target = { csiAddress: 'S', kubeconfig: 'K', hasTopology: true, hasParameterTemplates: true }
  const connecting = ['--csi-address=S', '--kubeconfig=K']

  it('only the provisioner gets --parameter-templates, and only if it has this flag', () => {
    expect(flagsOf('provisioner', target)).toEqual([...connecting, '--parameter-templates'])
    expect(flagsOf('provisioner', { ...target, hasParameterTemplates: false })).toEqual(connecting)
    expect(flagsOf('attacher', target)).toEqual(connecting)
  })

  it('only the provisioner runs without the feature gate Topology if no node reports a topology', () => {
    const without = { ...target, hasTopology: false, hasParameterTemplates: false }
    expect(flagsOf('provisioner', without)).toEqual([...connecting, '--feature-gates=Topology=false'])
    expect(flagsOf('snapshotter', without)).toEqual(connecting)
  })
})

describe('sidecarBinaries', () => {
  it('the cluster uses the path that the user gives for each sidecar', async () => {
    const paths = { attacher: '/a', resizer: '/r', provisioner: '/p', snapshotter: '/s' }
    expect(await sidecarBinaries(paths)).toEqual(paths)
  })

  it('the cluster runs a binary directly, and a script with the Node.js of this process', () => {
    expect(programOf('/bin/csi-attacher')).toEqual({ command: '/bin/csi-attacher', args: [] })
    expect(programOf('/lib/csi-attacher.cjs')).toEqual({ command: process.execPath, args: ['/lib/csi-attacher.cjs'] })
  })
})
