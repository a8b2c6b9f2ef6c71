"$COATI" record -q --off-cpu -- "$HELPERS/wait-known" 10 10000 >told 2>err
"$COATI" report | grep -c -e '--mode off shows the time off CPUs'
"$COATI" report --mode on --by event --csv | grep -c off-cpu
"$COATI" report --mode off --by event --csv | cut -d, -f1
"$COATI" report --mode both --by wait --csv | cut -d, -f1 | grep -x -e running -e futex -e read -e sleep | sort
"$COATI" report --mode off --tree --thread reader | grep -c wait_for_pipe
"$COATI" report --mode off --flame --thread sleeper | grep -c wait_in_sleep
"$COATI" report --mode off --callers wait_for_futex | grep -c 'run  '
"$COATI" report -q --mode off --html page.html && read_page page.html texts | grep -q wait_for_pipe && echo html
"$COATI" report --mode off --tree --json >j && is_json j && echo json
