// Packs Node.js and a program into a single executable, in the working directory:
//   node executable.mjs MAIN OUTPUT
// The executable contains the given path of MAIN. A relative path keeps the folder of the build out of it.
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { START_FLAGS } from './start-flags.mjs'

const WANTED = `v${readFileSync(join(import.meta.dirname, '../.nvmrc'), 'utf8').trim()}`

/**
 * Returns the Node.js for executables and code caches: `BUILD_NODE`, or a Node.js of the version in .nvmrc, or the
 * running Node.js. npm installs an older Node.js on platforms for which it lacks that version.
 */
export function buildNode() {
  const { BUILD_NODE, PATH = '' } = process.env
  if (BUILD_NODE) return BUILD_NODE
  if (process.version === WANTED) return process.execPath
  const found = PATH.split(delimiter).map((folder) => join(folder, 'node'))
  return found.find((file) => existsSync(file) && versionOf(file) === WANTED) ?? process.execPath
}

function versionOf(node) {
  return execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
}

/** Writes the executable, and `sea.json` in `folder`, from which other tools read the start flags. */
export function makeExecutable({ main, output, assets = {}, folder = '.' }) {
  const node = buildNode()
  const [copy, config] = [join(folder, 'node'), join(folder, 'sea.json')]
  copyFileSync(node, copy)
  if (process.platform === 'linux') strip(copy)
  const settings = {
    main,
    executable: copy,
    output,
    disableExperimentalSEAWarning: true,
    assets,
    execArgv: START_FLAGS,
    execArgvExtension: 'none', // an executable then ignores NODE_OPTIONS
  }
  writeFileSync(config, JSON.stringify(settings))
  execFileSync(node, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] })
  rmSync(copy)
}

/** Removes the symbols, a quarter of the file. Without binutils the symbols stay, and the executable still works. */
function strip(file) {
  try {
    execFileSync('strip', ['-s', file])
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    console.warn(`strip (binutils) is not installed: ${file} keeps its symbols and is 40 MB larger`)
  }
}

if (import.meta.main) {
  const [main, output] = process.argv.slice(2)
  makeExecutable({ main, output })
}
