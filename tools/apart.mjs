// Runs a program of a tool that is installed apart: node tools/apart.mjs FOLDER PROGRAM [ARGUMENT...]
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { installApart } from './install-apart.mjs'

const [name, program, ...args] = process.argv.slice(2)
if (program === undefined) throw new Error('usage: apart.mjs FOLDER PROGRAM [ARGUMENT...]')
const { status, error } = spawnSync(join(installApart(name), 'node_modules/.bin', program), args, { stdio: 'inherit' })
if (error !== undefined) throw error
process.exitCode = status ?? 1
