// Runs the test at a line of a file, for .vscode/launch.json:  npm exec -- node tools/test-at.mjs FILE LINE
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [file = '', line = '1'] = process.argv.slice(2)
const before = readFileSync(file, 'utf8').split('\n').slice(0, Number(line))
// The name of a test, or of a table of tests behind its rows.
const NAME = /(?:\b(?:it|test)(?:\.\w+)*\(|^\s*\][^(]*\)\()\s*(['"`])(?<name>.*?)\1/
const name = before.findLast((text) => NAME.test(text))?.match(NAME)?.groups?.name ?? ''
// A row of a table can put any text in place of a placeholder.
const pattern = RegExp.escape(name).replaceAll(/(?:%|\\x25)\w|\\\$[\w.\\]+/g, '.*')
const options = ['--runInBand', '--testTimeout=3600000', '--runTestsByPath', file, '--testNamePattern', pattern]
process.exitCode =
  spawnSync(process.execPath, ['node_modules/jest/bin/jest.js', ...options], { stdio: 'inherit' }).status ?? 1
