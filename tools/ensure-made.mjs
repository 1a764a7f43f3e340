// Builds generated code and sidecars if they are missing, but does not update existing files. A program that runs from
// source without `npm start` imports this file first.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fail, isNewEnough, make, OLDEST_NODE, ownSidecars, root } from './from-source.mjs'

const GENERATED = ['libs/csi-proto/src/gen/services.ts', 'libs/kube-types/src/gen/readers.ts']

const [, program = '', ...args] = process.argv
if (!isNewEnough()) fail(`Node ${OLDEST_NODE} is needed, this is ${process.version}: npm exec -- node ${program}`)
const sidecars = /devcluster|driver-test/.test(program) ? ownSidecars(args) : []
const wanted = [...GENERATED, ...sidecars.map((app) => `apps/${app}/dist/csi-${app}`)]
if (wanted.some((path) => !existsSync(join(root, path)))) await make(sidecars)
