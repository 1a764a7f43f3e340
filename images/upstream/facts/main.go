// Prints as JSON what users and other programs can see of a Go sidecar, read from its sources:
// go run . FOLDER... Each folder is read with all folders below it, without tests and without vendored code.
package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type facts struct {
	// By name, the type and the default as it is written.
	Flags map[string]string `json:"flags"`
	// By name, the fields of its specification.
	Gates   map[string]string `json:"gates"`
	Metrics []string          `json:"metrics"`
	// Of the log and of events.
	Messages []string `json:"messages"`
	// By type and name in JSON, the type and number of each field that the API has.
	Fields map[string]string `json:"fields"`
}

var (
	flagCall    = regexp.MustCompile(`^(Bool|Duration|Float64|Int|Int64|String|Uint|Uint64)(Var|Func)?$|^(Var|Func)$`)
	logCall     = regexp.MustCompile(`^(Info|InfoS|Error|ErrorS|Infof|Warningf|Errorf|Fatalf|Event|Eventf)$`)
	gateSpec    = regexp.MustCompile(`PreRelease:`)
	metricField = regexp.MustCompile(`MetricName$|^metric|Metric$`)
	skipped     = regexp.MustCompile(`^(vendor|release-tools|testdata|testutil|\..*)$`)
)

func main() {
	found := facts{Flags: map[string]string{}, Gates: map[string]string{}, Fields: map[string]string{}}
	for _, folder := range os.Args[1:] {
		if err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && path != folder && skipped.MatchString(entry.Name()) {
				return filepath.SkipDir
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool { found.note(node); return true })
			return nil
		}); err != nil {
			log.Fatal(err)
		}
	}
	slices.Sort(found.Metrics)
	slices.Sort(found.Messages)
	found.Metrics = slices.Compact(found.Metrics)
	found.Messages = slices.Compact(found.Messages)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(found); err != nil {
		log.Fatal(err)
	}
}

func (found *facts) note(node ast.Node) {
	switch node := node.(type) {
	case *ast.CallExpr:
		if selector, ok := node.Fun.(*ast.SelectorExpr); ok {
			found.noteCall(selector, node.Args)
		}
	case *ast.KeyValueExpr:
		if value, ok := node.Value.(*ast.CompositeLit); ok && gateSpec.MatchString(types.ExprString(value)+fieldsOf(value)) {
			found.Gates[types.ExprString(node.Key)] = fieldsOf(value)
		}
	case *ast.ValueSpec:
		for index, name := range node.Names {
			if index < len(node.Values) && metricField.MatchString(name.Name) {
				if text, ok := literal(node.Values[index]); ok {
					found.Metrics = append(found.Metrics, text)
				}
			}
		}
	case *ast.TypeSpec:
		if structure, ok := node.Type.(*ast.StructType); ok {
			found.noteFields(node.Name.Name, structure)
		}
	}
}

func (found *facts) noteCall(selector *ast.SelectorExpr, args []ast.Expr) {
	name := selector.Sel.Name
	if kind := flagCall.FindStringSubmatch(name); kind != nil && isFlags(selector.X) {
		// A variable comes before the name.
		at := 0
		if strings.HasSuffix(name, "Var") {
			at = 1
		}
		if at >= len(args) {
			return
		}
		flag, ok := literal(args[at])
		if !ok {
			return
		}
		value := name
		if at+1 < len(args) && kind[1] != "" && kind[2] != "Func" {
			value = kind[1] + " " + types.ExprString(args[at+1])
		}
		found.Flags[flag] = value
	}
	if logCall.MatchString(name) {
		// The first text is the message, but for events, whose first is the reason.
		for _, arg := range args {
			if text, ok := literal(arg); ok {
				found.Messages = append(found.Messages, text)
				break
			}
		}
	}
}

func (found *facts) noteFields(owner string, structure *ast.StructType) {
	for _, field := range structure.Fields.List {
		if field.Tag == nil {
			continue
		}
		text, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			continue
		}
		tag := structTag(text)
		if number := strings.Split(tag["protobuf"], ","); len(number) > 1 {
			name := strings.Split(tag["json"], ",")[0]
			found.Fields[owner+"."+name] = types.ExprString(field.Type) + " " + number[1]
		}
	}
}

func structTag(text string) map[string]string {
	tags := map[string]string{}
	for _, match := range regexp.MustCompile(`(\w+):"([^"]*)"`).FindAllStringSubmatch(text, -1) {
		tags[match[1]] = match[2]
	}
	return tags
}

// Whether a flag set is what the function belongs to.
func isFlags(expr ast.Expr) bool {
	name := types.ExprString(expr)
	return name == "flag" || name == "flags" || name == "fs" || name == "pflag" || name == "flag.CommandLine"
}

func fieldsOf(value *ast.CompositeLit) string {
	parts := []string{}
	for _, element := range value.Elts {
		if nested, ok := element.(*ast.CompositeLit); ok {
			parts = append(parts, "{"+fieldsOf(nested)+"}")
		} else if pair, ok := element.(*ast.KeyValueExpr); ok {
			parts = append(parts, types.ExprString(pair.Key)+": "+types.ExprString(pair.Value))
		}
	}
	return strings.Join(parts, ", ")
}

func literal(expr ast.Expr) (string, bool) {
	basic, ok := expr.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}
