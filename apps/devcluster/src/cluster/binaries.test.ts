import process from 'node:process'
import { describe, expect, it } from '@jest/globals'
import { programOf, sidecarBinaries } from './binaries.ts'

describe('a binary', () => {
  it('equals the given path', async () => {
    expect(await sidecarBinaries({ attacher: '/a', resizer: '/r' })).toEqual({ attacher: '/a', resizer: '/r' })
  })

  it('runs by itself, or by our Node where it is a script', () => {
    expect(programOf('/bin/csi-attacher')).toEqual({ command: '/bin/csi-attacher', args: [] })
    expect(programOf('/lib/csi-attacher.cjs')).toEqual({ command: process.execPath, args: ['/lib/csi-attacher.cjs'] })
  })
})
